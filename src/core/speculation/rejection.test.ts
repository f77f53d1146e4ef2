import { describe, expect, it } from 'vitest';
import { testRejectionSampling } from '../../../test/support/rejection-sampling.ts';
import type { Distribution } from '../contracts/index.ts';
import { acceptOrReplace } from './rejection.ts';

/** `rejection.full.ts` has 20 seeds. */
testRejectionSampling({ seeds: 8 });

describe('acceptOrReplace', () => {
  const target = (weights: readonly number[]) => ({
    ids: Int32Array.from(weights, (_, id) => id),
    weights: Float64Array.from(weights),
    count: weights.length,
    total: weights.reduce((sum, weight) => sum + weight, 0),
    scratch: new Int32Array(weights.length),
  });
  const from = (...probabilities: number[]): Distribution => ({
    ids: Int32Array.from(probabilities, (_, id) => id),
    probabilities: Float64Array.from(probabilities),
  });
  const numbers =
    (...values: number[]) =>
    () =>
      values.shift()!;

  it('lets a token stand that is at least as likely as drafted, without regard to the number drawn', () => {
    expect(acceptOrReplace(target([0.6, 0.4]), 0, from(0.5, 0.5), numbers(0.999))).toBe(0);
  });

  it('lets one that is less likely stand with probability p/q', () => {
    expect(acceptOrReplace(target([2, 6]), 0, from(0.5, 0.5), numbers(0.49))).toBe(0);
    expect(acceptOrReplace(target([2, 6]), 0, from(0.5, 0.5), numbers(0.51, 0))).toBe(1);
  });

  it('draws in place of one that fell from what the target has more of', () => {
    const weights = [0.1, 0.5, 0.4];
    // Left: 0, 0.2, 0.1.
    expect(acceptOrReplace(target(weights), 0, from(0.4, 0.3, 0.3), numbers(0.9, 0.66))).toBe(1);
    expect(acceptOrReplace(target(weights), 0, from(0.4, 0.3, 0.3), numbers(0.9, 0.67))).toBe(2);
  });

  it('replaces what the target never says', () => {
    const sparse = { ...target([1, 3]), ids: Int32Array.of(2, 5) };
    expect(acceptOrReplace(sparse, 4, undefined, numbers(0.2))).toBe(2);
  });
});
