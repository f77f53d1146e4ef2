import { expect, it } from 'vitest';
import { bucketWidth } from './bucket-width.ts';

it.each([
  [0, 0],
  [1, 1],
  [2, 2],
  [3, 4],
  [15, 16],
  [31, 32],
  [33, 36],
  [64, 64],
  [65, 72],
  [300, 320],
  [512, 512],
])('makes %i tokens %i wide', (tokens, width) => {
  expect(bucketWidth(tokens)).toBe(width);
});

it('leaves few widths, none of them much too wide', () => {
  const widths = Array.from({ length: 497 }, (_, i) => bucketWidth(i + 16) / (i + 16));
  expect(Math.max(...widths)).toBeLessThanOrEqual(1.125);
  expect(new Set(Array.from({ length: 512 }, (_, i) => bucketWidth(i + 1))).size).toBe(49);
});
