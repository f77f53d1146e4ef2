import { type Cell, textTable } from 'rxllm/bench';

export { textTable };

/** Rows under a head, as a Markdown table. */
export function markdownTable(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const ruler = head.map((_, column) => (rows.every((row) => typeof row[column] === 'number') ? '--:' : '---'));
  return [head, ruler, ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
