import { describe, expect, test } from 'vitest';
import { fakeOptions } from '../../../test/support/fakes.ts';
import { computeAll, createPrefixCached, kvModel, range, sequenceOf } from '../../../test/support/kv-caches.ts';
import { prefixCached } from './prefix-cached.ts';

describe('size', () => {
  test('all the memory, for what is not in use may be asked for again', () => {
    const kv = prefixCached()(kvModel, fakeOptions({ kvCacheMemoryMiB: 1, maxModelLen: 64, maxNumSeqs: 1 }));
    expect(kv.pool).toEqual({ layout: 'paged', blocks: 128, blockSize: 16 });
  });
});

describe('a prefix', () => {
  test('is found while its sequence runs and after it, and its blocks are shared', () => {
    const kv = createPrefixCached(12);
    const a = sequenceOf('a', range(0, 10));
    expect(computeAll(kv, a)).toEqual({ cached: 0, blocks: [1, 2, 3] });
    const b = sequenceOf('b', [...range(0, 9), 99]);
    expect(kv.cachedTokens(b)).toBe(8);
    expect(computeAll(kv, b)).toEqual({ cached: 8, blocks: [1, 2, 4] });
    kv.free(a);
    kv.free(b);
    expect(kv.used).toBe(0);
    expect(computeAll(kv, sequenceOf('c', range(0, 20)))).toEqual({ cached: 8, blocks: [1, 2, 5, 6, 7] });
    expect(kv.prefixCache).toEqual({ queries: 10 + 10 + 20, hits: 8 + 8 });
  });

  test('shows in a snapshot: in two tables while it is shared, then as what can still be found', () => {
    const kv = createPrefixCached(12);
    const [a, b] = [sequenceOf('a', range(0, 10)), sequenceOf('b', [...range(0, 9), 99])];
    computeAll(kv, a);
    computeAll(kv, b);
    expect(kv.snapshot()).toEqual({
      tables: new Map([
        ['a', [1, 2, 3]],
        ['b', [1, 2, 4]],
      ]),
      cached: [],
    });
    kv.free(a);
    kv.free(b);
    expect(kv.snapshot()).toEqual({ tables: new Map(), cached: [2, 1] });
  });

  test.each([
    [3, 0],
    [4, 0],
    [5, 4],
    [8, 4],
    [9, 8],
  ])('of an equal prompt of %i tokens gives %i: the last token is computed again', (length, cached) => {
    const kv = createPrefixCached(12);
    computeAll(kv, sequenceOf('a', range(0, length)));
    expect(computeAll(kv, sequenceOf('b', range(0, length)))?.cached).toBe(cached);
  });

  test('is one of all tokens before, not of the block alone', () => {
    const kv = createPrefixCached(12);
    computeAll(kv, sequenceOf('a', range(0, 9)));
    expect(kv.cachedTokens(sequenceOf('b', [...range(50, 54), ...range(4, 9)]))).toBe(0);
    expect(kv.cachedTokens(sequenceOf('c', [...range(0, 4), ...range(50, 60)]))).toBe(4);
  });

  test('of a reply is found by the next turn of a chat', () => {
    const kv = createPrefixCached(12);
    const first = sequenceOf('first', range(0, 6));
    computeAll(kv, first);
    for (const token of range(6, 13)) {
      first.tokens.push(token);
      kv.reserve(first, 1);
      first.computed += 1;
      kv.publish(first);
    }
    kv.free(first);
    expect(computeAll(kv, sequenceOf('second', range(0, 20)))?.cached).toBe(12);
  });

  test('is not found before its step has settled', () => {
    const kv = createPrefixCached(12);
    const a = sequenceOf('a', range(0, 9));
    kv.reserve(a, 9);
    expect(kv.cachedTokens(sequenceOf('b', range(0, 9)))).toBe(0);
    a.computed = 6;
    kv.publish(a);
    expect(kv.cachedTokens(sequenceOf('b', range(0, 9)))).toBe(4);
  });

  test('is found only under its own salt', () => {
    const kv = createPrefixCached(20);
    computeAll(kv, sequenceOf('a', range(0, 9), 'tenant'));
    expect(kv.cachedTokens(sequenceOf('b', range(0, 9)))).toBe(0);
    expect(kv.cachedTokens(sequenceOf('c', range(0, 9), 'other'))).toBe(0);
    expect(kv.cachedTokens(sequenceOf('d', range(0, 9), 'tenant'))).toBe(8);
  });

  test('is confirmed by its tokens: where every hash collides nothing wrong is found', () => {
    const kv = createPrefixCached(20, { hash: () => 7 });
    computeAll(kv, sequenceOf('a', range(0, 9)));
    computeAll(kv, sequenceOf('b', range(20, 25)));
    expect(kv.cachedTokens(sequenceOf('c', range(0, 9)))).toBe(0);
    expect(kv.cachedTokens(sequenceOf('d', range(20, 25)))).toBe(4);
    expect(kv.cachedTokens(sequenceOf('e', range(20, 25), 'salt'))).toBe(0);
    kv.checkInvariants();
  });

  test('computed twice side by side is kept once, and goes on from there', () => {
    const kv = createPrefixCached(20);
    const [a, b] = [sequenceOf('a', range(0, 6)), sequenceOf('b', range(0, 9))];
    kv.reserve(a, 6);
    kv.reserve(b, 9);
    for (const sequence of [a, b]) {
      sequence.computed = sequence.tokens.length;
      kv.publish(sequence);
    }
    expect(computeAll(kv, sequenceOf('c', range(0, 9)))).toEqual({ cached: 8, blocks: [1, 4, 6] });
  });

  test('whose twin is gone is published anew', () => {
    const kv = createPrefixCached(7);
    const [a, b] = [sequenceOf('a', range(0, 5)), sequenceOf('b', range(0, 8))];
    kv.reserve(a, 5);
    kv.reserve(b, 8);
    for (const sequence of [a, b]) {
      sequence.computed = sequence.tokens.length;
      kv.publish(sequence);
    }
    kv.free(a);
    const hog = sequenceOf('hog', range(60, 76));
    expect(kv.reserve(hog, 16)).toEqual({ blocks: [5, 6, 2, 1] });
    kv.free(hog);
    expect(kv.cachedTokens(sequenceOf('c', range(0, 20)))).toBe(0);
    b.tokens.push(8, 9, 10, 11);
    computeAll(kv, b);
    expect(kv.cachedTokens(sequenceOf('c', range(0, 20)))).toBe(12);
  });
});
