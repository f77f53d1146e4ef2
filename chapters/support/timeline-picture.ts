import { colour, FRAME, fixed, PLOT, picture, text, ticks } from './svg.ts';
import type { Cell, Timeline } from './timeline.ts';

const ROW_HEIGHT = 18;
const BAR_HEIGHT = 12;

const CELLS: readonly (readonly [Cell, fill: string, label: string, height: number])[] = [
  ['waits', 'var(--faint)', 'waits', 4],
  ['prompt', colour(2), 'prompt', BAR_HEIGHT],
  ['decodes', colour(0), 'decodes', BAR_HEIGHT],
  ['padding', colour(1), 'its row is padding while others wait', 4],
];

/** Sequences × steps, as SVG. Pictures with the same `longest`, in steps, can be laid above each other. */
export function timelinePicture(title: string, { cells, steps }: Timeline, longest: number = steps): string {
  const xTicks = ticks(longest);
  const stepWidth = PLOT.width / xTicks.at(-1)!;
  const foot = FRAME.top + cells.length * ROW_HEIGHT;
  const bars = cells.flatMap((row, index) => {
    const middle = FRAME.top + (index + 0.5) * ROW_HEIGHT;
    return CELLS.flatMap(([kind, fill, , height]) =>
      runsOf(row, kind).map(([from, to]) => {
        const place = `x="${fixed(FRAME.left + from * stepWidth)}" y="${fixed(middle - height / 2)}"`;
        return `<rect fill="${fill}" ${place} width="${fixed((to - from) * stepWidth - 0.6)}" height="${height}"/>`;
      }),
    );
  });
  const key = CELLS.map(([, fill, label, height], index) => {
    const x = FRAME.left + index * 90;
    const swatch = `<rect fill="${fill}" x="${x}" y="${foot + 44 - height / 2}" width="14" height="${height}"/>`;
    return swatch + text(x + 20, foot + 48, label);
  });
  return picture(
    title,
    [
      ...cells.map((_, index) =>
        text(FRAME.left - 8, FRAME.top + (index + 0.5) * ROW_HEIGHT + 4, `${index}`, { 'text-anchor': 'end' }),
      ),
      ...xTicks.map((tick) => {
        const x = fixed(FRAME.left + tick * stepWidth);
        const grid = `<line class="grid" x1="${x}" x2="${x}" y1="${FRAME.top}" y2="${foot}"/>`;
        return grid + text(FRAME.left + tick * stepWidth, foot + 18, String(tick), { 'text-anchor': 'middle' });
      }),
      ...bars,
      ...key,
    ],
    foot + 62,
  );
}

/** Where `kind` stands without a break: `[from, to)`. */
function runsOf(row: readonly (Cell | undefined)[], kind: Cell): [from: number, to: number][] {
  const runs: [number, number][] = [];
  row.forEach((cell, step) => {
    if (cell !== kind) return;
    const last = runs.at(-1);
    if (last !== undefined && last[1] === step) last[1] = step + 1;
    else runs.push([step, step + 1]);
  });
  return runs;
}
