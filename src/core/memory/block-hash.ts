import type { TokenId } from '../contracts/index.ts';

/**
 * The key of a block: of its tokens `[start, end)` and, through the key of the block before it, of all that precedes
 * them. Equal prefixes have equal keys; unequal ones may, so a match is confirmed against the tokens themselves.
 */
export type BlockHash = (parent: number, tokens: readonly TokenId[], start: number, end: number) => number;

/** Two 32-bit lanes of multiply and mix, joined (MurmurHash3's finalizer), of which 53 bits make a plain number. */
export const blockHash: BlockHash = (parent, tokens, start, end) => {
  let low = mix(~parent);
  let high = mix((parent / 2 ** 32) ^ 0x5bd1e995);
  for (let i = start; i < end; i++) {
    const token = tokens[i]! + 1;
    low = Math.imul(low ^ token, 0x9e3779b1);
    low ^= low >>> 15;
    high = Math.imul(high ^ token, 0x85ebca77);
    high ^= high >>> 13;
  }
  const [a, b] = [mix(low ^ Math.imul(high, 0xc2b2ae3d)), mix(high ^ Math.imul(low, 0x27d4eb2f))];
  return (b >>> 11) * 2 ** 32 + (a >>> 0);
};

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
