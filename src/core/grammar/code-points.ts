/** From and to, both included. */
export type Range = readonly [from: number, to: number];
/** A set of code points: ranges in order that neither overlap nor touch. */
export type CodePoints = readonly Range[];

const LAST = 0x10ffff;

export const ASCII: CodePoints = [[0, 0x7f]];
export const BEYOND_ASCII: CodePoints = [[0x80, LAST]];
/** Halves of UTF-16 pairs, which are no characters. */
export const SURROGATES: CodePoints = [[0xd800, 0xdfff]];

export function codePoints(ranges: readonly Range[]): CodePoints {
  const joined: [number, number][] = [];
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

export const union = (...sets: readonly CodePoints[]): CodePoints => codePoints(sets.flat());

export function complement(set: CodePoints): CodePoints {
  const starts = [0, ...set.map(([, to]) => to + 1)];
  const ends = [...set.map(([from]) => from - 1), LAST];
  return starts.map((from, at): Range => [from, ends[at]!]).filter(([from, to]) => from <= to);
}

export const intersection = (a: CodePoints, b: CodePoints): CodePoints =>
  complement(union(complement(a), complement(b)));
export const difference = (a: CodePoints, b: CodePoints): CodePoints => intersection(a, complement(b));
export const size = (set: CodePoints): number => set.reduce((sum, [from, to]) => sum + to - from + 1, 0);
export const each = (set: CodePoints): number[] =>
  set.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, at) => from + at));
