import { expect, test } from 'vitest';
import { tokenLogprobs } from './logprobs.ts';

/** Probabilities 1/8, 4/8, 1/8, 2/8. */
const logits = Float32Array.from([1, 4, 1, 2].map(Math.log));
const logprobs = (values: Float32Array, id: number, top: number) =>
  tokenLogprobs(values, id, top, new Int32Array(values.length));

test('of the chosen token and of the likeliest, in order, lower ids first among equals', () => {
  const { id, logprob, top } = logprobs(logits, 3, 3);
  expect(id).toBe(3);
  expect(logprob).toBeCloseTo(Math.log(2 / 8), 6);
  expect(top.map((token) => token.id)).toEqual([1, 3, 0]);
  expect(top.map((token) => Math.round(Math.exp(token.logprob) * 8))).toEqual([4, 2, 1]);
});

test('0 alternatives: its own alone', () => {
  expect(logprobs(logits, 1, 0)).toEqual({ id: 1, logprob: expect.closeTo(Math.log(1 / 2), 6), top: [] });
});

test('more alternatives than tokens: all', () => {
  expect(logprobs(logits, 1, 20).top.map(({ id }) => id)).toEqual([1, 3, 0, 2]);
});

test('all finite, so that JSON has numbers', () => {
  const extreme = Float32Array.from([Number.NEGATIVE_INFINITY, 3e38, -3e38]);
  expect(logprobs(extreme, 0, 3)).toEqual({
    id: 0,
    logprob: -9999,
    top: [
      { id: 1, logprob: 0 },
      { id: 2, logprob: -9999 },
      { id: 0, logprob: -9999 },
    ],
  });
});
