import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Candidates, createCandidates } from './candidates.ts';
import { keepMinP, keepTopP, takeTopK } from './truncate.ts';

const idsOf = ({ ids, count }: Candidates) => [...ids.subarray(0, count)];

const ofWeights = (weights: readonly number[]): Candidates => {
  const candidates = createCandidates(weights.length);
  candidates.ids.set([...weights.keys()]);
  candidates.weights.set(weights);
  candidates.count = weights.length;
  candidates.total = weights.reduce((sum, weight) => sum + weight, 0);
  return candidates;
};
const topP = (weights: readonly number[], p: number) => {
  const candidates = ofWeights(weights);
  keepTopP(candidates, p);
  return candidates;
};
const minP = (weights: readonly number[], p: number) => {
  const candidates = ofWeights(weights);
  keepMinP(candidates, p);
  return candidates;
};

describe('top-k', () => {
  const topK = (logits: number[], k: number) => {
    const candidates = createCandidates(logits.length);
    takeTopK(candidates, Float32Array.from(logits), k);
    return candidates;
  };

  test('the k largest, by ascending id, with their logits', () => {
    const candidates = topK([1, 5, 3, 4, 2], 3);
    expect(idsOf(candidates)).toEqual([1, 2, 3]);
    expect([...candidates.weights.subarray(0, 3)]).toEqual([5, 3, 4]);
  });

  test('ties at the edge: lower ids stay', () => {
    expect(idsOf(topK([2, 1, 2, 1, 1], 3))).toEqual([0, 1, 2]);
    expect(idsOf(topK([1, 1, 1, 1], 2))).toEqual([0, 1]);
  });

  test('all of them', () => {
    expect(idsOf(topK([1, 3, 2], 3))).toEqual([0, 1, 2]);
  });
});

describe('top-p', () => {
  test.each([
    [0, [1]],
    [0.5, [1]],
    [0.51, [1, 3]],
    [0.75, [1, 3]],
    [0.76, [0, 1, 3]],
    [0.875, [0, 1, 3]],
    [0.88, [0, 1, 2, 3]],
  ])('%d of 1/8 4/8 1/8 2/8 is %j', (p, ids) => {
    expect(idsOf(topP([1, 4, 1, 2], p))).toEqual(ids);
  });

  test('ties at the edge: lower ids stay', () => {
    expect(idsOf(topP([1, 1, 1, 1], 0.5))).toEqual([0, 1]);
    expect(idsOf(topP([1, 2, 1, 1], 0.6))).toEqual([0, 1]);
  });

  test('what is kept adds up anew', () => {
    expect(topP([1, 4, 1, 2], 0.75).total).toBe(6);
  });

  test('the same as sorting', () => {
    const weight = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.double({ min: 1e-9, max: 1, noNaN: true }));
    fc.assert(
      fc.property(
        fc.array(weight, { minLength: 1, maxLength: 60 }),
        fc.double({ min: 0, max: 0.9999, noNaN: true }),
        (weights, p) => {
          const total = weights.reduce((sum, w) => sum + w, 0);
          const sorted = [...weights.keys()].sort((a, b) => weights[b]! - weights[a]! || a - b);
          const kept = idsOf(topP(weights, p));
          expect(new Set(kept)).toEqual(new Set(sorted.slice(0, kept.length)));
          expect(kept).toEqual([...kept].sort((a, b) => a - b));
          const mass = kept.reduce((sum, id) => sum + weights[id]!, 0);
          expect(mass).toBeGreaterThanOrEqual(p * total * (1 - 1e-12));
          // Without the last of them it would not be enough: the nucleus is the smallest such set.
          if (kept.length > 1) expect(mass - weights[sorted[kept.length - 1]!]!).toBeLessThan(p * total * (1 + 1e-12));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('min-p', () => {
  test.each([
    [0.25, [0, 1, 2, 3]],
    [0.26, [1, 3]],
    [0.5, [1, 3]],
    [0.51, [1]],
    [1, [1]],
  ])('%d of 1 4 1 2 is %j', (p, ids) => {
    const candidates = minP([1, 4, 1, 2], p);
    expect(idsOf(candidates)).toEqual(ids);
    expect(candidates.total).toBe(ids.reduce((sum, id) => sum + [1, 4, 1, 2][id]!, 0));
  });

  test('equals of the likeliest all stay', () => {
    expect(idsOf(minP([2, 1, 2], 1))).toEqual([0, 2]);
  });
});
