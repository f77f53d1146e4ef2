import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fakeModel, fakeOptions, fakeSequence } from '../../../test/support/fakes.ts';
import type { KvAllocator, Sequence } from '../contracts/index.ts';
import { loadConfigAndWeights } from '../model/load-model.ts';
import { contiguousSlots } from './contiguous-slots.ts';
import { pagedBlocks } from './paged-blocks.ts';
import { prefixCached } from './prefix-cached.ts';

/** 512 bytes a token: a block of 16 takes 8 KiB. */
const model = fakeModel({ layers: 2, kvHeads: 2, headDim: 16 });
const create = (blocks: number, blockSize = 4, maxModelLen = 64) =>
  pagedBlocks({ blocks, blockSize })(model, fakeOptions({ maxModelLen }));

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

describe('blocks', () => {
  test('a sequence takes them as it grows', () => {
    const kv = create(8);
    const [a, b] = [fakeSequence('a'), fakeSequence('b')];
    expect(kv.reserve(a, 5)).toEqual({ blocks: [1, 2] });
    expect(kv.reserve(b, 4)).toEqual({ blocks: [3] });
    a.computed = 5;
    b.computed = 4;
    expect(kv.reserve(a, 3)).toEqual({ blocks: [1, 2] });
    expect(kv.reserve(b, 1)).toEqual({ blocks: [3, 4] });
    a.computed = 8;
    expect(kv.reserve(a, 1)).toEqual({ blocks: [1, 2, 5] });
    expect({ used: kv.used, a: a.blocks, b: b.blocks }).toEqual({ used: 5, a: [1, 2, 5], b: [3, 4] });
    kv.checkInvariants();
  });

  test('a snapshot tells who holds which, and does not change with it', () => {
    const kv = create(8);
    const [a, b] = [fakeSequence('a'), fakeSequence('b')];
    kv.reserve(a, 5);
    kv.reserve(b, 4);
    const before = kv.snapshot();
    kv.free(a);
    expect(before).toEqual({
      tables: new Map([
        ['a', [1, 2]],
        ['b', [3]],
      ]),
      cached: [],
    });
    expect(kv.snapshot()).toEqual({ tables: new Map([['b', [3]]]), cached: [] });
  });

  test('none left takes nothing', () => {
    const kv = create(4);
    const [a, b] = [fakeSequence('a'), fakeSequence('b')];
    kv.reserve(a, 8);
    expect(kv.reserve(b, 5)).toBeUndefined();
    expect({ used: kv.used, blocks: b.blocks }).toEqual({ used: 2, blocks: [] });
    expect(kv.reserve(b, 4)).toEqual({ blocks: [3] });
    kv.checkInvariants();
  });

  test('freed blocks are given out after all others, tail first', () => {
    const kv = create(7);
    const [a, b] = [fakeSequence('a'), fakeSequence('b')];
    kv.reserve(a, 12);
    kv.free(a);
    expect(a.blocks).toEqual([]);
    expect(kv.reserve(b, 20)).toEqual({ blocks: [4, 5, 6, 3, 2] });
  });

  test('truncation gives the blocks past the length back', () => {
    const kv = create(7);
    const a = fakeSequence('a');
    kv.reserve(a, 17);
    a.computed = 5;
    kv.truncate(a, 5);
    expect({ used: kv.used, blocks: a.blocks }).toEqual({ used: 2, blocks: [1, 2] });
    expect(kv.reserve(a, 8)).toEqual({ blocks: [1, 2, 6, 5] });
    kv.checkInvariants();
  });

  test('freeing twice, or what was never reserved, changes nothing', () => {
    const kv = create(4);
    const [a, b] = [fakeSequence('a'), fakeSequence('b')];
    kv.reserve(a, 1);
    kv.free(a);
    kv.reserve(b, 1);
    kv.free(a);
    kv.free(fakeSequence('c'));
    expect({ used: kv.used, blocks: b.blocks }).toEqual({ used: 1, blocks: [2] });
    kv.checkInvariants();
  });

  test('longer than the whole pool is refused, and takes no block', () => {
    const kv = create(3);
    expect(() => kv.reserve(fakeSequence('long'), 9)).toThrow(
      expect.objectContaining({
        code: 'RXLLM_CONTEXT_LENGTH_EXCEEDED',
        message:
          'Sequence long would be 9 tokens long, but at most 8 fit. ' +
          'Shorten the prompt, ask for fewer tokens, or raise maxModelLen and kvCacheMemoryMiB.',
      }),
    );
    expect(kv.used).toBe(0);
  });

  test('the books are checked: a block table that someone else changed', () => {
    const kv = create(4);
    const a = fakeSequence('a');
    kv.reserve(a, 1);
    a.blocks[0] = 2;
    expect(() => kv.checkInvariants()).toThrow('Block 1 has 1 references, and 0 tables hold it.');
    a.blocks[0] = 1;
    a.computed = 5;
    expect(() => kv.checkInvariants()).toThrow('Sequence a has 5 tokens in the cache and 1 blocks, not 2.');
  });
});

describe('a fork', () => {
  const parentOf = (promptLength: number, computed: number) => {
    const parent = fakeSequence('parent', { tokens: Array<number>(promptLength).fill(1) });
    parent.computed = computed;
    return parent;
  };
  const childOf = (parent: Sequence, id = 'child') => fakeSequence(id, { tokens: [...parent.tokens], parent });

  test('shares the blocks of the prompt, and gets a copy of the one that it writes to', () => {
    const kv = create(8);
    const parent = parentOf(6, 0);
    kv.reserve(parent, 6);
    parent.computed = 6;
    const child = childOf(parent);
    expect(kv.cachedTokens(child)).toBe(5);
    expect(kv.reserve(child, 1)).toEqual({ blocks: [1, 3], copies: [{ from: 2, to: 3 }] });
    expect({ computed: child.computed, cached: child.cached, used: kv.used }).toEqual({
      computed: 5,
      cached: 5,
      used: 3,
    });
    kv.checkInvariants();
    // Nobody else holds block 2 any more: the parent writes on in place.
    expect(kv.reserve(parent, 1)).toEqual({ blocks: [1, 2] });
    kv.free(parent);
    expect(kv.reserve(child, 3)).toEqual({ blocks: [1, 3] });
    kv.free(child);
    expect(kv.used).toBe(0);
  });

  test('copies nothing where its last token begins a block', () => {
    const kv = create(8);
    const parent = parentOf(5, 0);
    kv.reserve(parent, 5);
    parent.computed = 5;
    expect(kv.reserve(childOf(parent), 1)).toEqual({ blocks: [1, 3] });
  });

  test('a block shared and then written to is copied, whoever writes', () => {
    const kv = create(8);
    const parent = parentOf(7, 0);
    kv.reserve(parent, 7);
    parent.computed = 7;
    const child = childOf(parent);
    kv.reserve(child, 1);
    child.computed = 7;
    // Both full and partial blocks are given up by truncation, and shared again.
    kv.truncate(child, 2);
    child.computed = 2;
    expect(child.blocks).toEqual([1]);
    expect(kv.reserve(parent, 1)).toEqual({ blocks: [1, 2] });
    expect(kv.reserve(child, 1)).toEqual({ blocks: [4], copies: [{ from: 1, to: 4 }] });
    kv.checkInvariants();
  });

  test('has to find room for the copy, too; else takes nothing', () => {
    const kv = create(3);
    const parent = parentOf(6, 0);
    kv.reserve(parent, 6);
    parent.computed = 6;
    const child = childOf(parent);
    expect(kv.reserve(child, 1)).toBeUndefined();
    expect({ used: kv.used, computed: child.computed, blocks: child.blocks }).toEqual({
      used: 2,
      computed: 0,
      blocks: [],
    });
    kv.checkInvariants();
  });

  test('of a parent that holds nothing begins from nothing', () => {
    const kv = create(8);
    const child = childOf(parentOf(6, 0));
    expect(kv.cachedTokens(child)).toBe(0);
    expect(kv.reserve(child, 6)).toEqual({ blocks: [1, 2] });
  });

  test('that was preempted finds the whole prompt', () => {
    const kv = create(8);
    const parent = parentOf(6, 0);
    kv.reserve(parent, 6);
    parent.computed = 6;
    const child = childOf(parent);
    child.tokens.push(9, 9);
    expect(kv.cachedTokens(child)).toBe(6);
    expect(kv.reserve(child, 2)).toEqual({ blocks: [1, 3], copies: [{ from: 2, to: 3 }] });
  });
});

test('any order of reserve, fork, truncate and free: no write reaches a block of another, less than a block wasted, all come back', () => {
  const step = fc.record({
    id: fc.nat(5),
    verb: fc.constantFrom('reserve', 'reserve', 'fork', 'truncate', 'free'),
    tokens: fc.integer({ min: 1, max: 12 }),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 12 }),
      fc.integer({ min: 1, max: 5 }),
      fc.array(step, { maxLength: 60 }),
      (blocks, blockSize, steps) => {
        const kv = create(blocks, blockSize);
        const prompt = Array<number>(9).fill(1);
        const sequences = Array.from({ length: 6 }, (_, id) => fakeSequence(String(id), { tokens: prompt }));
        for (const { id, verb, tokens } of steps) {
          const sequence = sequences[id]!;
          const parent = sequences[0]!;
          if (verb === 'free') {
            kv.free(sequence);
            sequence.computed = 0;
          } else if (verb === 'truncate') {
            sequence.computed = Math.min(sequence.computed, tokens);
            kv.truncate(sequence, sequence.computed);
          } else {
            if (verb === 'fork' && id > 0) sequence.parent = parent;
            const free = kv.total - kv.used;
            const start = sequence.computed || kv.cachedTokens(sequence);
            if (start + tokens > kv.maxSequenceTokens) continue;
            const reservation = kv.reserve(sequence, tokens);
            if (reservation === undefined) {
              expect(Math.ceil((start + tokens) / blockSize) + 1 - sequence.blocks.length).toBeGreaterThan(free);
            } else {
              const written = sequence.blocks.slice(Math.floor(start / blockSize));
              const others = sequences.filter((each) => each !== sequence).flatMap((each) => each.blocks);
              expect(written.filter((block) => others.includes(block))).toEqual([]);
              sequence.computed = start + tokens;
            }
          }
          kv.checkInvariants();
          expect(kv.used).toBe(new Set(sequences.flatMap((each) => each.blocks)).size);
          for (const { blocks, computed } of sequences) {
            expect(blocks.length * blockSize - computed).toBeLessThan(blockSize);
          }
        }
        for (const sequence of sequences) kv.free(sequence);
        expect(kv.used).toBe(0);
        kv.checkInvariants();
      },
    ),
  );
});
