import { colour, FRAME, fixed, picture, text } from './svg.ts';
import type { Tiles } from './tile-loads.ts';

/** What one thread has to do with an element: reads it itself; its workgroup loads it this turn, or in another. */
type Mark = 'thread' | 'turn' | 'workgroup' | 'none';

/** A `[size, k]`, B `[k, size]` and C `[size, size]`, each as rows of marks. */
export interface LoadMap {
  readonly name: string;
  readonly a: readonly (readonly Mark[])[];
  readonly b: readonly (readonly Mark[])[];
  readonly c: readonly (readonly Mark[])[];
}

/** As one thread sees it, the one whose part of C begins at row and column `at`, in the second turn of its workgroup. */
export function loadMap(name: string, { workgroup, thread }: Tiles, size: number, k: number, at: number): LoadMap {
  const within = (i: number, from: number, length: number) => i >= from && i < from + length;
  const mark = (along: number, deep: number, own: number, tile: number | undefined): Mark => {
    const isOwn = within(along, at, own);
    if (workgroup === undefined || tile === undefined) return isOwn ? 'thread' : 'none';
    if (!within(along, at - (at % tile), tile)) return 'none';
    if (!within(deep, workgroup.depth, workgroup.depth)) return 'workgroup';
    return isOwn ? 'thread' : 'turn';
  };
  const matrix = (rows: number, columns: number, of: (row: number, column: number) => Mark) =>
    Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, column) => of(row, column)));
  const inTile = (i: number, tile: number | undefined) => tile !== undefined && within(i, at - (at % tile), tile);
  return {
    name,
    a: matrix(size, k, (row, i) => mark(row, i, thread.rows, workgroup?.rows)),
    b: matrix(k, size, (i, column) => mark(column, i, thread.columns, workgroup?.columns)),
    c: matrix(size, size, (row, column) => {
      if (within(row, at, thread.rows) && within(column, at, thread.columns)) return 'thread';
      return inTile(row, workgroup?.rows) && inTile(column, workgroup?.columns) ? 'turn' : 'none';
    }),
  };
}

const SIGNS: Readonly<Record<Mark, string>> = { thread: '█', turn: '▒', workgroup: '░', none: '·' };

/** B above C, A to the left of it. */
export function loadText({ a, b, c }: LoadMap): string {
  const signs = (marks: readonly Mark[]) => marks.map((mark) => SIGNS[mark]).join('');
  const indent = ' '.repeat(a[0]!.length + 3);
  const above = b.map((row, i) => `${i === 0 ? 'B'.padStart(indent.length - 1) : indent.slice(1)} ${signs(row)}`);
  const beside = c.map((row, i) => `${signs(a[i]!)}   ${signs(row)}`);
  return [...above, '', ...beside, `${'A'.padEnd(indent.length)}C`].map((line) => `    ${line}`.trimEnd()).join('\n');
}

export const LOAD_KEY =
  '█ what one thread reads, and its part of C   ▒ what its workgroup loads this turn   ░ in other turns';

const CELL = 6;
const OPACITY: Readonly<Record<Mark, number>> = { thread: 0.9, turn: 0.45, workgroup: 0.18, none: 0 };

/** Several kernels side by side, as SVG. */
export function loadPicture(title: string, maps: readonly LoadMap[]): string {
  const step = (FRAME.width - 2 * FRAME.right) / maps.length;
  const tallest = Math.max(...maps.map(({ b, c }) => b.length + c.length));
  const top = FRAME.top + 20;
  const bottom = top + (tallest + 1) * CELL;
  const drawn = maps.map(({ name, a, b, c }, index) => {
    const left = FRAME.right + index * step;
    const [cX, cY] = [left + (a[0]!.length + 1) * CELL, top + (b.length + 1) * CELL];
    const matrix = (marks: readonly (readonly Mark[])[], x: number, y: number, series: number) => {
      const size = `width="${CELL * marks[0]!.length}" height="${CELL * marks.length}"`;
      const outline = `<rect class="grid" fill="none" x="${fixed(x)}" y="${fixed(y)}" ${size}/>`;
      const runs = marks.flatMap((row, i) =>
        runsOf(row).map(([from, to]) => {
          const place = `x="${fixed(x + from * CELL)}" y="${fixed(y + i * CELL)}"`;
          const run = `width="${(to - from) * CELL}" height="${CELL}"`;
          return `<rect fill="${colour(series)}" opacity="${OPACITY[row[from]!]}" ${place} ${run}/>`;
        }),
      );
      return outline + runs.join('');
    };
    const names = text(left, cY - 5, 'A') + text(cX - 12, top + 11, 'B') + text(cX + c.length * CELL + 4, cY + 11, 'C');
    return text(left, top - 8, name) + matrix(a, left, cY, 0) + matrix(b, cX, top, 1) + matrix(c, cX, cY, 2) + names;
  });
  const key =
    'strong: what one thread reads, and its sums · middle: what its workgroup loads this turn · pale: other turns';
  return picture(title, [...drawn, text(FRAME.right, bottom + 20, key)], bottom + 36);
}

/** Where the same mark goes on, from and to. */
function runsOf(row: readonly Mark[]): [number, number][] {
  const starts = row.flatMap((mark, i) => (mark === row[i - 1] ? [] : [i]));
  return starts
    .map((from, i): [number, number] => [from, starts[i + 1] ?? row.length])
    .filter(([from]) => row[from] !== 'none');
}
