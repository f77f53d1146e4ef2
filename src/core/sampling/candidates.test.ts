import { describe, expect, test } from 'vitest';
import { type Candidates, createCandidates, draw, exponentiate, takeAll } from './candidates.ts';

const take = (logits: number[]) => {
  const candidates = createCandidates(logits.length);
  takeAll(candidates, Float32Array.from(logits));
  return candidates;
};
const weightsOf = ({ weights, count }: Candidates) => [...weights.subarray(0, count)];

describe('exponentiate', () => {
  test('relative to the largest', () => {
    const candidates = take([1, 3, 2]);
    exponentiate(candidates, 1);
    expect(weightsOf(candidates)).toEqual([Math.exp(-2), 1, Math.exp(-1)]);
    expect(candidates.total).toBe(Math.exp(-2) + 1 + Math.exp(-1));
  });

  test('a high temperature flattens, a low one sharpens', () => {
    const warm = take([0, 1]);
    exponentiate(warm, 2);
    expect(weightsOf(warm)).toEqual([Math.exp(-0.5), 1]);
    const cold = take([0, 1]);
    exponentiate(cold, 0.5);
    expect(weightsOf(cold)).toEqual([Math.exp(-2), 1]);
  });

  test('the coldest temperature leaves the largest, huge logits do not overflow, masked ones weigh nothing', () => {
    const candidates = take([3e38, 1, Number.NEGATIVE_INFINITY]);
    exponentiate(candidates, Number.MIN_VALUE);
    expect(weightsOf(candidates)).toEqual([1, 0, 0]);
  });
});

describe('draw', () => {
  const drawn = (weights: number[], uniform: number) => {
    const candidates = take(weights);
    candidates.total = weights.reduce((sum, weight) => sum + weight, 0);
    return draw(candidates, uniform);
  };

  test.each([
    [0, 0],
    [0.249, 0],
    [0.25, 1],
    [0.749, 1],
    [0.75, 2],
    [1 - 2 ** -53, 2],
  ])('at %d of [1, 2, 1] it is %d', (uniform, id) => {
    expect(drawn([1, 2, 1], uniform)).toBe(id);
  });

  test('a token without weight is never drawn, at either end', () => {
    expect(drawn([0, 1, 0], 0)).toBe(1);
    expect(drawn([0, 1, 0], 1 - 2 ** -53)).toBe(1);
    const rounded = take([0, 1, 0]);
    rounded.total = 1.5;
    expect(draw(rounded, 1 - 2 ** -53)).toBe(1);
  });
});
