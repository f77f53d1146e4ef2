import { attainable } from '../../core/profiling/roofline.ts';
import { axes, type Roofline, short } from './roofline-chart.ts';

const COLUMNS = 60;
const LINES = 14;
const MARGIN = 8;

/** The same for a terminal: `─` and `/` are the roofs, a letter the series, the number behind it the point's label. */
export function rooflineText(roofline: Roofline): string {
  const { roofs, series } = roofline;
  const { x, y } = axes(roofline);
  const share = (value: number, ticks: readonly number[]) =>
    Math.log10(value / ticks[0]!) / Math.log10(ticks.at(-1)! / ticks[0]!);
  const column = (value: number) => Math.round(share(value, x) * (COLUMNS - 1));
  const line = (value: number) => Math.round((1 - share(value, y)) * (LINES - 1));
  const grid = Array.from({ length: LINES }, () => Array<string>(COLUMNS).fill(' '));
  const put = (at: number, to: number, sign: string) => {
    if (grid[at]?.[to] !== undefined) grid[at]![to] = sign;
  };

  for (let to = 0; to < COLUMNS; to++) {
    const intensity = x[0]! * (x.at(-1)! / x[0]!) ** (to / (COLUMNS - 1));
    const flops = attainable(roofs, intensity);
    put(line(flops), to, flops < roofs.flopsPerS ? '/' : '─');
  }
  for (const { name, points } of series) {
    for (const { label, intensity, flopsPerS } of points) {
      const sign = `${name[0]!.toUpperCase()}${label}`;
      const from = Math.min(column(intensity), COLUMNS - sign.length);
      [...sign].forEach((character, i) => {
        put(line(flopsPerS), from + i, character);
      });
    }
  }
  const marks = new Map(y.map((tick) => [line(tick), short(tick / 1e9)]));
  const axis = Array<string>(COLUMNS + 4).fill(' ');
  for (const tick of x) axis.splice(column(tick), short(tick).length, ...short(tick));
  return [
    'GFLOP/s'.padStart(MARGIN),
    ...grid.map((row, at) => `${(marks.get(at) ?? '').padStart(MARGIN)} │${row.join('').trimEnd()}`),
    `${''.padStart(MARGIN)} └${'─'.repeat(COLUMNS)}`,
    `${''.padStart(MARGIN)}  ${axis.join('').trimEnd()}   FLOPs a byte`,
    `${''.padStart(MARGIN)}  ${series.map(({ name }) => `${name[0]!.toUpperCase()}: ${name}`).join('; ')}`,
  ].join('\n');
}
