import { describe, expect, it } from 'vitest';
import { fakeConfig } from '../../../test/support/fakes.ts';
import { decodeShape, passWork, prefillShape, totalBytes } from './pass-work.ts';

const config = fakeConfig({
  layers: 2,
  hidden: 8,
  intermediate: 16,
  heads: 4,
  kvHeads: 2,
  headDim: 4,
  vocab: 32,
});
const traffic = { layers: 5000, head: 1024, embeddingRow: 32, kernel: 'float32' } as const;

// q 8×16, k and v 8×8 each, o 16×8, gate and up 8×16 each, down 16×8: 768 weights a layer, 1,536 in both.
const WEIGHTS = 2 * (8 * 16 + 2 * 8 * 8 + 16 * 8 + 3 * 8 * 16);
// Keys and values of two heads of four float32 in two layers.
const KV_BYTES = 2 * 2 * 2 * 4 * 4;

describe('passWork', () => {
  it('counts a prompt of three tokens', () => {
    expect(WEIGHTS).toBe(1536);
    const work = passWork(config, traffic, 'contiguous', prefillShape(1, 3));
    // Scores and mixing: of 1 + 2 + 3 pairs, four heads of four, in two layers; the head for the last token alone.
    const attention = 2 * (1 + 2 + 3) * (4 * 4) * 2 * 2;
    expect(work).toEqual({
      tokens: 3,
      flops: 2 * 3 * WEIGHTS + attention + 2 * 8 * 32,
      bytes: { weights: 5000 + 1024 + 3 * 32, kv: 3 * KV_BYTES, logits: 32 * 4 },
    });
    expect(work.flops).toBe(9216 + 768 + 512);
    expect(totalBytes(work)).toBe(6120 + 384 + 128);
  });

  it('counts a decode step of two rows with ten tokens each before', () => {
    const work = passWork(config, traffic, 'paged', decodeShape(2, 10));
    expect(work).toEqual({
      tokens: 2,
      flops: 2 * 2 * WEIGHTS + 2 * (2 * 11 * (4 * 4) * 2 * 2) + 2 * 2 * 8 * 32,
      bytes: { weights: 5000 + 1024 + 2 * 32, kv: (2 * 10 + 2) * KV_BYTES, logits: 2 * 32 * 4 },
    });
  });

  it('leaves the head out where no logits are wanted, and keys and values where there is no cache', () => {
    const chunk = { ids: [[1, 2]], positions: [4], logitsAt: [] };
    // The fifth token sees five keys, the sixth six.
    expect(passWork(config, traffic, 'contiguous', chunk)).toEqual({
      tokens: 2,
      flops: 2 * 2 * WEIGHTS + 2 * (5 + 6) * (4 * 4) * 2 * 2,
      bytes: { weights: 5000 + 2 * 32, kv: 6 * KV_BYTES, logits: 0 },
    });
    expect(passWork(config, traffic, 'none', prefillShape(1, 3)).bytes.kv).toBe(0);
  });

  it('counts rows of unequal length one by one', () => {
    const alone = [
      { ids: [[1]], positions: [7], logitsAt: [0] },
      { ids: [[1, 2, 3]], positions: [2], logitsAt: [2] },
    ].map((shape) => passWork(config, traffic, 'contiguous', shape));
    const both = { ids: [[1], [1, 2, 3]], positions: [7, 2], logitsAt: [0, 5] };
    const together = passWork(config, traffic, 'contiguous', both);
    expect(together.flops).toBe(alone[0]!.flops + alone[1]!.flops);
    expect(together.bytes.kv).toBe(alone[0]!.bytes.kv + alone[1]!.bytes.kv);
    expect(together.bytes.weights).toBe(5000 + 1024 + 4 * 32);
  });
});
