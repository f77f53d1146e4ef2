import { describe, expect, it } from 'vitest';
import { alternate, ratio } from './compare.ts';

describe('alternate', () => {
  it('reverses the order from round to round', async () => {
    const order: string[] = [];
    const contenders = ['a', 'b', 'c'].map((name) => ({ name, run: async () => `${name}${order.push(name)}` }));
    let turns = 0;
    const results = await alternate(contenders, 3, () => turns++);
    expect(order.join('')).toBe('abccbaabc');
    expect(results).toEqual([
      ['a1', 'a6', 'a7'],
      ['b2', 'b5', 'b8'],
      ['c3', 'c4', 'c9'],
    ]);
    expect(turns).toBe(9);
  });

  it('ends with the first that fails', async () => {
    const run = () => Promise.reject(new Error('no'));
    await expect(alternate([{ name: 'a', run }], 2)).rejects.toThrow('no');
  });
});

describe('ratio', () => {
  it('is the median of the ratios pair by pair, not the ratio of the medians', () => {
    expect(ratio([1, 10, 100, 1, 1], [2, 40, 100, 3, 5])).toEqual({ median: 3, q1: 2, q3: 4, pairs: 5 });
  });

  it('leaves out pairs that were not measured', () => {
    expect(ratio([1, 0, 2], [2, 3, 0])).toEqual({ median: 2, q1: 2, q3: 2, pairs: 1 });
    expect(ratio([0, 0], [2, 3])).toBeUndefined();
  });
});
