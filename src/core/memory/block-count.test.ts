import { describe, expect, test } from 'vitest';
import { fakeModel, fakeOptions, fakeSequence } from '../../../test/support/fakes.ts';
import { kvModel as model } from '../../../test/support/kv-caches.ts';
import type { KvAllocator } from '../contracts/index.ts';
import { loadConfigAndWeights } from '../model/load-model.ts';
import { contiguousSlots } from './contiguous-slots.ts';
import { pagedBlocks } from './paged-blocks.ts';
import { prefixCached } from './prefix-cached.ts';

describe('size', () => {
  test('as many blocks as fit in the memory, the trash block among them', () => {
    const kv = pagedBlocks()(model, fakeOptions({ kvCacheMemoryMiB: 1, maxModelLen: 2048, maxNumSeqs: 64 }));
    expect(kv.pool).toEqual({ layout: 'paged', blocks: 128, blockSize: 16 });
    expect({ total: kv.total, used: kv.used, longest: kv.maxSequenceTokens }).toEqual({
      total: 127,
      used: 0,
      longest: 127 * 16,
    });
  });

  test('not more than all sequences at full length can fill', () => {
    const kv = pagedBlocks()(model, fakeOptions({ kvCacheMemoryMiB: 64, maxModelLen: 100, maxNumSeqs: 3 }));
    expect(kv.pool.blocks).toBe(1 + 3 * 7);
    expect(kv.maxSequenceTokens).toBe(100);
  });

  test('too little memory for one block says how much it takes', () => {
    expect(() =>
      pagedBlocks({ blockSize: 4096 })(model, fakeOptions({ kvCacheMemoryMiB: 3, maxModelLen: 4096 })),
    ).toThrow(
      expect.objectContaining({
        code: 'RXLLM_OPTION_INVALID',
        param: 'kvCacheMemoryMiB',
        message:
          'kvCacheMemoryMiB 3 is too small: a block of 4096 tokens and the one for padding need 4 MiB. ' +
          'Raise kvCacheMemoryMiB or lower blockSize.',
      }),
    );
  });

  test.each([
    ['blockSize', { blockSize: 0 }],
    ['blockSize', { blockSize: 1.5 }],
    ['blocks', { blocks: 1 }],
    ['blocks', { blocks: Number.NaN }],
    ['blocks', { blocks: 1e12 }],
  ])('%s: %j is refused', (param, options) => {
    const refusal = expect.objectContaining({ code: 'RXLLM_OPTION_INVALID', param });
    expect(() => pagedBlocks(options)(model, fakeOptions())).toThrow(refusal);
    expect(() => prefixCached(options)(model, fakeOptions())).toThrow(refusal);
  });

  test.each([1e7, 1e9])('a cache of %d MiB is refused where it would be taken, before it is asked for', (mebibytes) => {
    const options = fakeOptions({ kvCacheMemoryMiB: mebibytes });
    expect(pagedBlocks()(model, options).pool.blocks).toBe(1 + 4 * 4);
    expect(() => prefixCached()(model, options)).toThrow(
      expect.objectContaining({ code: 'RXLLM_OPTION_INVALID', param: 'kvCacheMemoryMiB' }),
    );
  });

  test('not more blocks than a Set can hold', () => {
    const tiny = fakeModel({ layers: 1, kvHeads: 1, headDim: 2 });
    expect(() => pagedBlocks({ blocks: 2 ** 24 + 1, blockSize: 1 })(tiny, fakeOptions())).toThrow(
      'blocks: 16777217 blocks are more than 16777216.',
    );
  });

  test('64 MiB, maximum length 2,048, lengths around 200, the embedded model: ≥ 6 times as many sequences', async () => {
    const { config } = await loadConfigAndWeights('models/storyteller-12m');
    const options = fakeOptions({ kvCacheMemoryMiB: 64, maxModelLen: 2048, maxNumSeqs: 1000 });
    /** Until none is left, and of the tokens that it took, how many hold nothing. */
    const fill = (kv: KvAllocator) => {
      let tokens = 0;
      for (let count = 0; ; count++) {
        const length = 150 + ((count * 37) % 101);
        const room = kv.reserve(fakeSequence(`${count}`, { tokens: Array<number>(length).fill(1) }), length);
        if (room === undefined) return { count, wasted: kv.used * kv.pool.blockSize - tokens };
        tokens += length;
      }
    };
    const contiguous = fill(contiguousSlots()(fakeModel(config), options));
    const paged = fill(pagedBlocks()(fakeModel(config), options));
    expect(contiguous).toEqual({ count: 4, wasted: 7471 });
    expect(paged).toEqual({ count: 39, wasted: 265 });
    expect(paged.count).toBeGreaterThanOrEqual(6 * contiguous.count);
    expect(paged.wasted).toBeLessThan(16 * paged.count);
  });
});
