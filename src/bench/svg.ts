/** A picture's size and the place of its plot in it, in SVG units. */
export const FRAME = { width: 640, height: 360, left: 62, right: 16, top: 44, bottom: 48 } as const;
export const PLOT = {
  width: FRAME.width - FRAME.left - FRAME.right,
  height: FRAME.height - FRAME.top - FRAME.bottom,
  bottom: FRAME.height - FRAME.bottom,
} as const;

/** Okabe and Ito's colours, which stay apart for colour-blind eyes; lighter ones on dark ground. */
const STYLE = `
  svg { --ink: #1f2328; --faint: #d0d7de; --s0: #0072b2; --s1: #d55e00; --s2: #009e73; --s3: #cc79a7; }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e6edf3; --faint: #3d444d; --s0: #56b4e9; --s1: #f0924c; --s2: #3fc79a; --s3: #e6a5c9; }
  }
  text { font: 13px system-ui, sans-serif; fill: var(--ink); }
  .title { font-size: 15px; font-weight: 600; }
  .grid { stroke: var(--faint); stroke-width: 1; }
  .line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
`;

/** The nth series' colour, light and dark. */
export const colour = (series: number) => `var(--s${series % 4})`;

/** A whole picture for light and dark pages. Equal input gives equal bytes. */
export function picture(title: string, parts: readonly string[], height: number = FRAME.height): string {
  const size = `viewBox="0 0 ${FRAME.width} ${height}" width="${FRAME.width}" height="${height}"`;
  const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${escaped(title)}">`;
  return `${[head, `<style>${STYLE}</style>`, text(FRAME.left, 22, title, { class: 'title' }), ...parts, '</svg>'].join('\n')}\n`;
}

export function text(x: number, y: number, words: string, attributes: Readonly<Record<string, string>> = {}): string {
  const rest = Object.entries(attributes).map(([name, value]) => ` ${name}="${value}"`);
  return `<text x="${fixed(x)}" y="${fixed(y)}"${rest.join('')}>${escaped(words)}</text>`;
}

/** A tenth of a unit is as fine as anyone sees. */
export const fixed = (value: number): string => String(Math.round(value * 10) / 10);

/** Round steps of 1, 2 or 5 × 10ⁿ from 0 to at least `max`, about five of them. */
export function ticks(max: number): number[] {
  const rough = max / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? 10 * power;
  const count = Math.ceil(max / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}

const escaped = (words: string) => words.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
