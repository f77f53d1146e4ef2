export type Cell = string | number;

/** Rows under a head, as text in columns; numbers are set to the right. */
export function textTable(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const all: (readonly Cell[])[] = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => String(row[column]).length)));
  const numeric = head.map((_, column) => rows.every((row) => typeof row[column] === 'number'));
  const line = (row: readonly Cell[]) =>
    row.map((cell, column) => {
      const text = String(cell);
      return numeric[column] ? text.padStart(widths[column]!) : text.padEnd(widths[column]!);
    });
  return all.map((row) => line(row).join('  ').trimEnd()).join('\n');
}
