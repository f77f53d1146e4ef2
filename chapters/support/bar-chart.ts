import { colour, FRAME, fixed, PLOT, picture, text } from './svg.ts';

export interface BarPanel {
  readonly name: string;
  /** Bars between 0 and 1. */
  readonly values: readonly number[];
}

const PANEL_HEIGHT = 74;
const BAR_HEIGHT = 48;

/** Panels of bars one above the other over the same labels, as SVG: distributions to compare. */
export function barChart(title: string, labels: readonly string[], panels: readonly BarPanel[]): string {
  const step = PLOT.width / labels.length;
  const height = FRAME.top + panels.length * PANEL_HEIGHT + 34;
  const foot = FRAME.top + panels.length * PANEL_HEIGHT;
  return picture(
    title,
    [
      ...panels.map(({ name, values }, index) => {
        const base = FRAME.top + index * PANEL_HEIGHT + BAR_HEIGHT + 14;
        const bars = values.map((value, at) => {
          const size = `width="${fixed(step * 0.7)}" height="${fixed(value * BAR_HEIGHT)}"`;
          return `<rect fill="${colour(index)}" x="${fixed(FRAME.left + at * step)}" y="${fixed(base - value * BAR_HEIGHT)}" ${size}/>`;
        });
        const floor = `<line class="grid" x1="${FRAME.left}" x2="${FRAME.left + PLOT.width}" y1="${base}" y2="${base}"/>`;
        return (
          floor + bars.join('') + text(FRAME.left + PLOT.width, base - BAR_HEIGHT + 6, name, { 'text-anchor': 'end' })
        );
      }),
      ...labels.map((label, at) =>
        text(FRAME.left + at * step + step * 0.35, foot + 16, label, { 'text-anchor': 'middle' }),
      ),
    ],
    height,
  );
}
