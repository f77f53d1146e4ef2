import { expect, it } from 'vitest';
import { repeatRequest } from './delivery.ts';

it('counts the seed up, and goes on with the smallest behind the largest', () => {
  const { MAX_SAFE_INTEGER: max, MIN_SAFE_INTEGER: min } = Number;
  const seeds = (seed: number) =>
    repeatRequest({ prompt: 'hi', params: { seed } }, 3, () => 'id').map(({ params }) => params?.seed);
  expect(seeds(5)).toEqual([5, 6, 7]);
  expect(seeds(max - 1)).toEqual([max - 1, max, min]);
  expect(seeds(max)).toEqual([max, min, min + 1]);
});
