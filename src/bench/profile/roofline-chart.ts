import { attainable, type Roofs, ridge } from '../../core/profiling/roofline.ts';
import { colour, FRAME, fixed, PLOT, picture, text } from '../svg.ts';
import type { EngineProfile } from './profile-engine.ts';

export interface RooflineSeries {
  readonly name: string;
  readonly points: readonly { readonly label: string; readonly intensity: number; readonly flopsPerS: number }[];
}

export interface Roofline {
  readonly title: string;
  readonly roofs: Roofs;
  /** A second slope: what a cache gives, bytes a second. */
  readonly cachedBytesPerS?: number;
  readonly series: readonly RooflineSeries[];
}

export function rooflineOf({ engine, model, promptTokens, roofs, ceilings, points }: EngineProfile): Roofline {
  const series = (['prefill', 'decode'] as const).map((phase) => ({
    name: `${phase}, by rows${phase === 'prefill' ? ` of ${promptTokens} tokens` : ''}`,
    points: points.filter((point) => point.phase === phase).map((point) => ({ ...point, label: String(point.rows) })),
  }));
  return { title: `${engine} on ${model}`, roofs, cachedBytesPerS: ceilings.cached, series };
}

const GIGA = 1e9;

/** Powers of ten that the points and the ridge lie between. */
export function decades(values: readonly number[]): number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const first = Math.floor(Math.log10(least));
  const last = Math.ceil(Math.log10(most));
  return Array.from({ length: Math.max(1, last - first) + 1 }, (_, i) => 10 ** (first + i));
}

/** The axes of a roofline: intensity, and FLOP/s. */
export function axes({ roofs, series }: Roofline): { readonly x: number[]; readonly y: number[] } {
  const points = series.flatMap((one) => one.points);
  return {
    x: decades([ridge(roofs), ...points.map(({ intensity }) => intensity)]),
    y: decades([roofs.flopsPerS, ...points.map(({ flopsPerS }) => flopsPerS)]),
  };
}

/** The roofs and what stands below them, both axes logarithmic, as SVG. */
export function rooflineChart(roofline: Roofline): string {
  const { title, roofs, cachedBytesPerS, series } = roofline;
  const { x, y } = axes(roofline);
  const share = (value: number, ticks: readonly number[]) =>
    Math.log10(value / ticks[0]!) / Math.log10(ticks.at(-1)! / ticks[0]!);
  const atX = (value: number) => FRAME.left + share(value, x) * PLOT.width;
  const atY = (value: number) => PLOT.bottom - share(value, y) * PLOT.height;
  const right = FRAME.left + PLOT.width;
  /** A slope from the left or the lower edge up to the flat roof, and along it. */
  const roof = (of: Roofs, style: string) => {
    const from = Math.max(x[0]!, y[0]! / of.bytesPerS);
    const at = [from, ridge(of), x.at(-1)!].filter((value) => value >= from && value <= x.at(-1)!);
    const path = at.map(
      (value, i) => `${i === 0 ? 'M' : 'L'}${fixed(atX(value))} ${fixed(atY(attainable(of, value)))}`,
    );
    return `<path class="line" stroke="var(--ink)" ${style} d="${path.join('')}"/>`;
  };
  return picture(title, [
    ...y.map((tick) => {
      const at = fixed(atY(tick));
      const grid = `<line class="grid" x1="${FRAME.left}" x2="${right}" y1="${at}" y2="${at}"/>`;
      return grid + text(FRAME.left - 8, atY(tick) + 4, short(tick / GIGA), { 'text-anchor': 'end' });
    }),
    ...x.map((tick) => {
      const at = fixed(atX(tick));
      const grid = `<line class="grid" x1="${at}" x2="${at}" y1="${FRAME.top}" y2="${PLOT.bottom}"/>`;
      return grid + text(atX(tick), PLOT.bottom + 18, short(tick), { 'text-anchor': 'middle' });
    }),
    text(right, PLOT.bottom + 38, 'FLOPs a byte', { 'text-anchor': 'end' }),
    text(8, FRAME.top - 6, 'GFLOP/s'),
    ...(cachedBytesPerS === undefined
      ? []
      : [roof({ ...roofs, bytesPerS: cachedBytesPerS }, 'stroke-dasharray="3 5" stroke-opacity="0.6"')]),
    roof(roofs, ''),
    ...series.map(({ name, points }, index) => {
      const dots = points.map(({ label, intensity, flopsPerS }) => {
        const [cx, cy] = [atX(intensity), atY(flopsPerS)];
        const dot = `<circle fill="${colour(index)}" cx="${fixed(cx)}" cy="${fixed(cy)}" r="5"/>`;
        return dot + text(cx, cy + 20, label, { 'text-anchor': 'middle' });
      });
      const keyY = FRAME.top + 16 + index * 20;
      const swatch = `<circle fill="${colour(index)}" cx="${FRAME.left + 22}" cy="${keyY}" r="5"/>`;
      return dots.join('') + swatch + text(FRAME.left + 36, keyY + 4, name);
    }),
    text(FRAME.left + 36, FRAME.top + 60, cachedBytesPerS === undefined ? '' : 'dashed: bytes that a cache holds'),
  ]);
}

export const short = (value: number): string => String(Number(value.toPrecision(3)));
