import { describe, expect, test } from 'vitest';
import { createRandom } from './random.ts';

const take = (seed: number, count: number) => {
  const next = createRandom(seed);
  return Array.from({ length: count }, next);
};

describe('createRandom', () => {
  test('the same seed gives the same numbers, which never change', () => {
    expect(take(42, 3)).toEqual([0.29131022954605823, 0.11133799525571064, 0.3166959684496662]);
  });

  test('seeds are told apart: neighbours, negative ones, those past 32 bits', () => {
    const seeds = [
      0,
      1,
      2,
      -1,
      2 ** 31,
      -(2 ** 31),
      2 ** 32,
      2 ** 32 + 1,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ];
    expect(new Set(seeds.map((seed) => take(seed, 1)[0])).size).toBe(seeds.length);
  });

  test('uniform in [0, 1): mean, variance, and no correlation of neighbours', () => {
    const n = 100_000;
    const numbers = take(7, n);
    expect(numbers.every((x) => x >= 0 && x < 1)).toBe(true);
    const mean = numbers.reduce((sum, x) => sum + x, 0) / n;
    const variance = numbers.reduce((sum, x) => sum + (x - 0.5) ** 2, 0) / n;
    const covariance = numbers.slice(1).reduce((sum, x, i) => sum + (x - 0.5) * (numbers[i]! - 0.5), 0) / n;
    // Four standard errors of each.
    expect(Math.abs(mean - 1 / 2)).toBeLessThan((4 * Math.sqrt(1 / 12)) / Math.sqrt(n));
    expect(Math.abs(variance - 1 / 12)).toBeLessThan((4 * Math.sqrt(1 / 180)) / Math.sqrt(n));
    expect(Math.abs(covariance)).toBeLessThan(4 / 12 / Math.sqrt(n));
  });

  test('first numbers of consecutive seeds are uniform too', () => {
    const n = 20_000;
    const buckets = new Array<number>(16).fill(0);
    for (let seed = 0; seed < n; seed++) buckets[Math.floor(createRandom(seed)() * 16)]!++;
    const chiSquare = buckets.reduce((sum, count) => sum + (count - n / 16) ** 2 / (n / 16), 0);
    // 15 degrees of freedom: 37.7 is passed once in a thousand.
    expect(chiSquare).toBeLessThan(37.7);
  });
});
