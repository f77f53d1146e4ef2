import { describe, expect, it } from 'vitest';
import { bestLength } from './best-length.ts';

/** A drafted token takes so much of a plain step. */
const costing = (cost: number) => (k: number) => 1 + k * cost;

describe('bestLength', () => {
  it('drafts as far as a token more gives more than it takes', () => {
    expect(bestLength(0.9, costing(0), 8)).toBe(8);
    // 1.9/1.2, 2.71/1.4, 3.44/1.6, 4.10/1.8, 4.69/2, 5.22/2.2: 1.58, 1.94, 2.15, 2.28, 2.34, 2.37
    expect(bestLength(0.9, costing(0.2), 6)).toBe(6);
    // 1.6/1.2, 1.96/1.4, 2.176/1.6: 1.33, 1.40, 1.36
    expect(bestLength(0.6, costing(0.2), 6)).toBe(2);
  });

  it('drafts nothing where a drafted token costs more than it brings', () => {
    expect(bestLength(0.2, costing(0.25), 6)).toBe(0);
    expect(bestLength(0.5, costing(0.5), 6)).toBe(0);
  });
});
