import { describe, expect, test } from 'vitest';
import { computeAll, createPrefixCached, range, sequenceOf } from '../../../test/support/kv-caches.ts';

describe('eviction', () => {
  test('takes the least recently used first, and of a sequence its tail first', () => {
    const kv = createPrefixCached(7);
    const a = sequenceOf('a', range(0, 9));
    const b = sequenceOf('b', range(20, 29));
    computeAll(kv, a);
    computeAll(kv, b);
    kv.free(a);
    kv.free(b);
    // Free: 3 2 1 6 5 4. Blocks 3 and 6 were never full.
    const seen = () => [a, b].map(({ tokens }) => kv.cachedTokens(sequenceOf('x', tokens)));
    expect(seen()).toEqual([8, 8]);
    const hog = sequenceOf('hog', range(40, 48));
    expect(kv.reserve(hog, 8)).toEqual({ blocks: [3, 2] });
    expect(seen()).toEqual([4, 8]);
    expect(kv.reserve(sequenceOf('hog 2', range(50, 58)), 8)).toEqual({ blocks: [1, 6] });
    expect(seen()).toEqual([0, 8]);
  });

  test('spares what was found again', () => {
    const kv = createPrefixCached(7);
    const a = sequenceOf('a', range(0, 9));
    const b = sequenceOf('b', range(20, 29));
    for (const sequence of [a, b]) computeAll(kv, sequence);
    for (const sequence of [a, b]) kv.free(sequence);
    const again = sequenceOf('again', range(0, 9));
    expect(computeAll(kv, again)).toEqual({ cached: 8, blocks: [1, 2, 3] });
    kv.free(again);
    expect(kv.reserve(sequenceOf('hog', range(40, 52)), 12)).toEqual({ blocks: [6, 5, 4] });
    expect(kv.cachedTokens(sequenceOf('x', a.tokens))).toBe(8);
  });

  test('counts what a sequence finds as taken: it does not evict its own prefix', () => {
    const kv = createPrefixCached(5);
    kv.reserve(sequenceOf('other', [1]), 1);
    const a = sequenceOf('a', range(0, 9));
    computeAll(kv, a);
    kv.free(a);
    const longer = sequenceOf('longer', range(0, 16));
    expect(kv.cachedTokens(longer)).toBe(8);
    expect(kv.reserve(longer, 8)).toBeUndefined();
    expect({ used: kv.used, computed: longer.computed, cached: kv.cachedTokens(longer) }).toEqual({
      used: 1,
      computed: 0,
      cached: 8,
    });
    expect(kv.reserve(longer, 4)).toEqual({ blocks: [2, 3, 4] });
  });

  test('of a preempted sequence’s blocks happens only when they are needed', () => {
    const kv = createPrefixCached(8);
    const a = sequenceOf('a', range(0, 13));
    computeAll(kv, a);
    kv.free(a);
    a.computed = 0;
    expect(computeAll(kv, a)).toEqual({ cached: 12, blocks: [1, 2, 3, 5] });
  });
});

test('truncation into a full block makes it partial again, found by nobody', () => {
  const kv = createPrefixCached(12);
  const a = sequenceOf('a', range(0, 9));
  computeAll(kv, a);
  a.computed = 6;
  kv.truncate(a, 6);
  a.tokens.splice(6, 3, 70, 71, 72);
  kv.checkInvariants();
  expect(computeAll(kv, a)).toEqual({ cached: 0, blocks: [1, 2, 4] });
  expect(kv.cachedTokens(sequenceOf('b', range(0, 9)))).toBe(4);
  expect(kv.cachedTokens(sequenceOf('c', [...range(0, 6), 70, 71, 72]))).toBe(8);
});
