import { expect, it } from 'vitest';
import { fromHalf, toHalf } from './half.ts';

it('every finite half survives', () => {
  for (let half = 0; half < 0x10000; half++) {
    const value = fromHalf(half);
    if (Number.isNaN(value)) continue;
    if (toHalf(value) !== half) expect(toHalf(value)).toBe(half);
  }
});

it('rounds to the nearest, ties to even', () => {
  expect(fromHalf(toHalf(0.1))).toBe(0.0999755859375);
  expect(fromHalf(toHalf(2049))).toBe(2048);
  expect(fromHalf(toHalf(2051))).toBe(2052);
  expect(fromHalf(toHalf(-65520))).toBe(Number.NEGATIVE_INFINITY);
  expect(fromHalf(toHalf(65519))).toBe(65504);
  expect(fromHalf(toHalf(2 ** -25))).toBe(0);
  expect(fromHalf(toHalf(3 * 2 ** -25))).toBe(2 ** -23);
});
