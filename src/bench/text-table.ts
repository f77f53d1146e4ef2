export type Cell = string | number;

/** Rows under a head, as text in columns; numbers are set to the right, or all columns. */
export function textTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  toTheRight: 'numbers' | 'all' = 'numbers',
): string {
  const all: (readonly Cell[])[] = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => String(row[column]).length)));
  const isRight = head.map((_, at) => toTheRight === 'all' || rows.every((row) => typeof row[at] === 'number'));
  const line = (row: readonly Cell[]) =>
    row.map((cell, column) => {
      const text = String(cell);
      return isRight[column] ? text.padStart(widths[column]!) : text.padEnd(widths[column]!);
    });
  return all.map((row) => line(row).join('  ').trimEnd()).join('\n');
}
