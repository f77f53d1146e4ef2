import { colour, FRAME, fixed, PLOT, picture, text, ticks } from './svg.ts';

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface LineChart {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly series: readonly Series[];
}

/** Lines over axes that start at 0, as SVG. */
export function lineChart({ title, x, y, series }: LineChart): string {
  const all = series.flatMap(({ points }) => points);
  const xTicks = ticks(Math.max(...all.map(([value]) => value)));
  const yTicks = ticks(Math.max(...all.map(([, value]) => value)));
  const atX = (value: number) => FRAME.left + (value / xTicks.at(-1)!) * PLOT.width;
  const atY = (value: number) => PLOT.bottom - (value / yTicks.at(-1)!) * PLOT.height;
  const right = FRAME.left + PLOT.width;
  return picture(title, [
    ...yTicks.map((tick) => {
      const at = fixed(atY(tick));
      const grid = `<line class="grid" x1="${FRAME.left}" x2="${right}" y1="${at}" y2="${at}"/>`;
      return grid + text(FRAME.left - 8, atY(tick) + 4, String(tick), { 'text-anchor': 'end' });
    }),
    ...xTicks.map((tick) => text(atX(tick), PLOT.bottom + 18, String(tick), { 'text-anchor': 'middle' })),
    text(right, PLOT.bottom + 38, x, { 'text-anchor': 'end' }),
    text(8, FRAME.top - 6, y),
    ...series.map(({ name, points }, index) => {
      const path = points.map(([px, py], at) => `${at === 0 ? 'M' : 'L'}${fixed(atX(px))} ${fixed(atY(py))}`).join('');
      const line = `<path class="line" stroke="${colour(index)}" d="${path}"/>`;
      const key = FRAME.left + 16;
      const keyY = FRAME.top + 16 + index * 20;
      const swatch = `<line class="line" stroke="${colour(index)}" x1="${key}" x2="${key + 22}" y1="${keyY}" y2="${keyY}"/>`;
      return line + swatch + text(key + 30, keyY + 4, name);
    }),
  ]);
}
