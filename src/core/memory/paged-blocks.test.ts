import { describe, expect, test } from 'vitest';
import { fakeSequence } from '../../../test/support/fakes.ts';
import { createPaged } from '../../../test/support/kv-caches.ts';

describe('blocks', () => {
  test('a sequence takes them as it grows', () => {
    const kv = createPaged(8);
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
    const kv = createPaged(8);
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
    const kv = createPaged(4);
    const [a, b] = [fakeSequence('a'), fakeSequence('b')];
    kv.reserve(a, 8);
    expect(kv.reserve(b, 5)).toBeUndefined();
    expect({ used: kv.used, blocks: b.blocks }).toEqual({ used: 2, blocks: [] });
    expect(kv.reserve(b, 4)).toEqual({ blocks: [3] });
    kv.checkInvariants();
  });

  test('freed blocks are given out after all others, tail first', () => {
    const kv = createPaged(7);
    const [a, b] = [fakeSequence('a'), fakeSequence('b')];
    kv.reserve(a, 12);
    kv.free(a);
    expect(a.blocks).toEqual([]);
    expect(kv.reserve(b, 20)).toEqual({ blocks: [4, 5, 6, 3, 2] });
  });

  test('truncation gives the blocks past the length back', () => {
    const kv = createPaged(7);
    const a = fakeSequence('a');
    kv.reserve(a, 17);
    a.computed = 5;
    kv.truncate(a, 5);
    expect({ used: kv.used, blocks: a.blocks }).toEqual({ used: 2, blocks: [1, 2] });
    expect(kv.reserve(a, 8)).toEqual({ blocks: [1, 2, 6, 5] });
    kv.checkInvariants();
  });

  test('freeing twice, or what was never reserved, changes nothing', () => {
    const kv = createPaged(4);
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
    const kv = createPaged(3);
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
    const kv = createPaged(4);
    const a = fakeSequence('a');
    kv.reserve(a, 1);
    a.blocks[0] = 2;
    expect(() => kv.checkInvariants()).toThrow('Block 1 has 1 references, and 0 tables hold it.');
    a.blocks[0] = 1;
    a.computed = 5;
    expect(() => kv.checkInvariants()).toThrow('Sequence a has 5 tokens in the cache and 1 blocks, not 2.');
  });
});
