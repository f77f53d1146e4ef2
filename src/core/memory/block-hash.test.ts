import fc from 'fast-check';
import { expect, test } from 'vitest';
import { blockHash } from './block-hash.ts';

test('is a whole number of 53 bits that depends on tokens, their order, and the parent', () => {
  const seen = new Set<number>();
  fc.assert(
    fc.property(fc.nat(2 ** 40), fc.array(fc.nat(200_000), { minLength: 1, maxLength: 32 }), (parent, tokens) => {
      const key = blockHash(parent, tokens, 0, tokens.length);
      expect(Number.isSafeInteger(key) && key >= 0).toBe(true);
      expect(blockHash(parent, [9, ...tokens], 1, tokens.length + 1)).toBe(key);
    }),
  );
  for (let a = 0; a < 60; a++) {
    for (let b = 0; b < 60; b++) {
      for (const parent of [0, 1, 2 ** 32, 2 ** 52]) seen.add(blockHash(parent, [a, b, 0, 0], 0, 4));
    }
  }
  expect(seen.size).toBe(60 * 60 * 4);
});
