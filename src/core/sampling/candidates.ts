import type { TokenId } from '../contracts/index.ts';

/** Tokens that may be drawn, by ascending id. Weights are logits at first, then proportional to probabilities. */
export interface Candidates {
  readonly ids: Int32Array;
  readonly weights: Float64Array;
  count: number;
  /** The sum of the weights, added in the order of ids. */
  total: number;
  /** For selection, `[vocab]`; holds nothing between calls. */
  readonly scratch: Int32Array;
}

export function createCandidates(vocab: number): Candidates {
  return {
    ids: new Int32Array(vocab),
    weights: new Float64Array(vocab),
    count: 0,
    total: 0,
    scratch: new Int32Array(vocab),
  };
}

/** Every token of `logits` `[vocab]`. */
export function takeAll(candidates: Candidates, logits: Float32Array): void {
  const { ids, weights } = candidates;
  for (let id = 0; id < logits.length; id++) {
    ids[id] = id;
    weights[id] = logits[id]!;
  }
  candidates.count = logits.length;
}

/** Turns weights that are logits into exp(logit / temperature), scaled so that the largest is 1. */
export function exponentiate(candidates: Candidates, temperature: number): void {
  const { weights, count } = candidates;
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i++) if (weights[i]! > largest) largest = weights[i]!;
  let total = 0;
  for (let i = 0; i < count; i++) {
    const weight = Math.exp((weights[i]! - largest) / temperature);
    weights[i] = weight;
    total += weight;
  }
  candidates.total = total;
}

/** The token at `uniform`, in [0, 1), of the cumulative distribution; never one of weight 0. */
export function draw({ ids, weights, count, total }: Candidates, uniform: number): TokenId {
  const target = uniform * total;
  let sum = 0;
  for (let i = 0; i < count; i++) {
    sum += weights[i]!;
    if (sum > target) return ids[i]!;
  }
  // Rounding made the target the total itself: the last token that has a weight.
  let last = count - 1;
  while (weights[last] === 0) last--;
  return ids[last]!;
}
