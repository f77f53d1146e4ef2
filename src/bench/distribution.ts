/** Of whole numbers, both ends included. */
export type Distribution =
  | { readonly type: 'fixed'; readonly value: number }
  | { readonly type: 'uniform' | 'log-uniform'; readonly min: number; readonly max: number };

export const DISTRIBUTION_SYNTAX = 'N, uniform:MIN-MAX or log-uniform:MIN-MAX, whole numbers of at least 1';

/** `64`, `uniform:8-128`, `log-uniform:8-128`; undefined where it is none of them. */
export function parseDistribution(text: string): Distribution | undefined {
  const [, name, first, , second] = /^(?:(uniform|log-uniform):)?([1-9]\d{0,8})(-([1-9]\d{0,8}))?$/.exec(text) ?? [];
  if (first === undefined || (name === undefined) !== (second === undefined)) return undefined;
  if (name === undefined) return { type: 'fixed', value: Number(first) };
  const [min, max] = [Number(first), Number(second)];
  return min <= max ? { type: name as 'uniform' | 'log-uniform', min, max } : undefined;
}

/**
 * Draws one value. `log-uniform` gives each octave the same share (1 to 2 as much as 64 to 128), as lengths of real
 * replies are rather spread.
 */
export function draw(distribution: Distribution, random: () => number): number {
  if (distribution.type === 'fixed') return distribution.value;
  const { type, min, max } = distribution;
  if (type === 'uniform') return min + Math.floor(random() * (max - min + 1));
  // The upper end of the last whole number's share is max + 1, which floating point may just reach.
  return Math.min(max, Math.floor(min * ((max + 1) / min) ** random()));
}
