import fc from 'fast-check';
import { expect, test } from 'vitest';
import { argmax } from './argmax.ts';

test.each([
  [[1, 3, 2], 1],
  [[5, 5, 5, 5, 5], 0],
  [[0, 1, 2, 3, 4, 9, 9], 5],
  [[-3, -1, -1, -2], 1],
  [[Number.NaN, 2, Number.NaN, 3, Number.NaN], 3],
  [[Number.NEGATIVE_INFINITY, -1e30], 1],
  [[Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY], -1],
  [[Number.NaN, Number.NaN, Number.NaN, Number.NaN, Number.NaN], -1],
  [[], -1],
])('argmax of %j is %d', (logits, id) => {
  expect(argmax(Float32Array.from(logits))).toBe(id);
});

test('the first of the largest, whatever the length', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 1, maxLength: 40 }), (logits) => {
      expect(argmax(Float32Array.from(logits))).toBe(logits.indexOf(Math.max(...logits)));
    }),
  );
});
