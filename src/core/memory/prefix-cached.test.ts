import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fakeModel, fakeOptions, fakeSequence } from '../../../test/support/fakes.ts';
import type { KvAllocator, Sequence, TokenId } from '../contracts/index.ts';
import { type PrefixCachedOptions, prefixCached } from './prefix-cached.ts';

const model = fakeModel({ layers: 2, kvHeads: 2, headDim: 16 });
const create = (blocks: number, more: PrefixCachedOptions = {}) =>
  prefixCached({ blocks, blockSize: 4, ...more })(model, fakeOptions({ maxModelLen: 64 }));

const sequenceOf = (id: string, tokens: readonly TokenId[], cacheSalt?: string) =>
  fakeSequence(id, { tokens: [...tokens], request: { prompt: tokens, ...(cacheSalt && { cacheSalt }) } });

/** Reserves for all that is not computed, and settles: computed, published. What it found, and its blocks. */
function run(kv: KvAllocator, sequence: Sequence): { cached: number; blocks: readonly number[] } | undefined {
  const known = sequence.computed || kv.cachedTokens(sequence);
  const newTokens = sequence.tokens.length - known;
  const reservation = kv.reserve(sequence, newTokens);
  if (reservation === undefined) return undefined;
  sequence.computed += newTokens;
  kv.publish(sequence);
  kv.checkInvariants();
  return { cached: sequence.cached, blocks: reservation.blocks };
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

describe('size', () => {
  test('all the memory, for what is not in use may be asked for again', () => {
    const kv = prefixCached()(model, fakeOptions({ kvCacheMemoryMiB: 1, maxModelLen: 64, maxNumSeqs: 1 }));
    expect(kv.pool).toEqual({ layout: 'paged', blocks: 128, blockSize: 16 });
  });
});

describe('a prefix', () => {
  test('is found while its sequence runs and after it, and its blocks are shared', () => {
    const kv = create(12);
    const a = sequenceOf('a', range(0, 10));
    expect(run(kv, a)).toEqual({ cached: 0, blocks: [1, 2, 3] });
    const b = sequenceOf('b', [...range(0, 9), 99]);
    expect(kv.cachedTokens(b)).toBe(8);
    expect(run(kv, b)).toEqual({ cached: 8, blocks: [1, 2, 4] });
    kv.free(a);
    kv.free(b);
    expect(kv.used).toBe(0);
    expect(run(kv, sequenceOf('c', range(0, 20)))).toEqual({ cached: 8, blocks: [1, 2, 5, 6, 7] });
    expect(kv.prefixCache).toEqual({ queries: 10 + 10 + 20, hits: 8 + 8 });
  });

  test('shows in a snapshot: in two tables while it is shared, then as what can still be found', () => {
    const kv = create(12);
    const [a, b] = [sequenceOf('a', range(0, 10)), sequenceOf('b', [...range(0, 9), 99])];
    run(kv, a);
    run(kv, b);
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
    const kv = create(12);
    run(kv, sequenceOf('a', range(0, length)));
    expect(run(kv, sequenceOf('b', range(0, length)))?.cached).toBe(cached);
  });

  test('is one of all tokens before, not of the block alone', () => {
    const kv = create(12);
    run(kv, sequenceOf('a', range(0, 9)));
    expect(kv.cachedTokens(sequenceOf('b', [...range(50, 54), ...range(4, 9)]))).toBe(0);
    expect(kv.cachedTokens(sequenceOf('c', [...range(0, 4), ...range(50, 60)]))).toBe(4);
  });

  test('of a reply is found by the next turn of a chat', () => {
    const kv = create(12);
    const first = sequenceOf('first', range(0, 6));
    run(kv, first);
    for (const token of range(6, 13)) {
      first.tokens.push(token);
      kv.reserve(first, 1);
      first.computed += 1;
      kv.publish(first);
    }
    kv.free(first);
    expect(run(kv, sequenceOf('second', range(0, 20)))?.cached).toBe(12);
  });

  test('is not found before its step has settled', () => {
    const kv = create(12);
    const a = sequenceOf('a', range(0, 9));
    kv.reserve(a, 9);
    expect(kv.cachedTokens(sequenceOf('b', range(0, 9)))).toBe(0);
    a.computed = 6;
    kv.publish(a);
    expect(kv.cachedTokens(sequenceOf('b', range(0, 9)))).toBe(4);
  });

  test('is found only under its own salt', () => {
    const kv = create(20);
    run(kv, sequenceOf('a', range(0, 9), 'tenant'));
    expect(kv.cachedTokens(sequenceOf('b', range(0, 9)))).toBe(0);
    expect(kv.cachedTokens(sequenceOf('c', range(0, 9), 'other'))).toBe(0);
    expect(kv.cachedTokens(sequenceOf('d', range(0, 9), 'tenant'))).toBe(8);
  });

  test('is confirmed by its tokens: where every hash collides nothing wrong is found', () => {
    const kv = create(20, { hash: () => 7 });
    run(kv, sequenceOf('a', range(0, 9)));
    run(kv, sequenceOf('b', range(20, 25)));
    expect(kv.cachedTokens(sequenceOf('c', range(0, 9)))).toBe(0);
    expect(kv.cachedTokens(sequenceOf('d', range(20, 25)))).toBe(4);
    expect(kv.cachedTokens(sequenceOf('e', range(20, 25), 'salt'))).toBe(0);
    kv.checkInvariants();
  });

  test('computed twice side by side is kept once, and goes on from there', () => {
    const kv = create(20);
    const [a, b] = [sequenceOf('a', range(0, 6)), sequenceOf('b', range(0, 9))];
    kv.reserve(a, 6);
    kv.reserve(b, 9);
    for (const sequence of [a, b]) {
      sequence.computed = sequence.tokens.length;
      kv.publish(sequence);
    }
    expect(run(kv, sequenceOf('c', range(0, 9)))).toEqual({ cached: 8, blocks: [1, 4, 6] });
  });

  test('whose twin is gone is published anew', () => {
    const kv = create(7);
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
    run(kv, b);
    expect(kv.cachedTokens(sequenceOf('c', range(0, 20)))).toBe(12);
  });
});

describe('eviction', () => {
  test('takes the least recently used first, and of a sequence its tail first', () => {
    const kv = create(7);
    const a = sequenceOf('a', range(0, 9));
    const b = sequenceOf('b', range(20, 29));
    run(kv, a);
    run(kv, b);
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
    const kv = create(7);
    const a = sequenceOf('a', range(0, 9));
    const b = sequenceOf('b', range(20, 29));
    for (const sequence of [a, b]) run(kv, sequence);
    for (const sequence of [a, b]) kv.free(sequence);
    const again = sequenceOf('again', range(0, 9));
    expect(run(kv, again)).toEqual({ cached: 8, blocks: [1, 2, 3] });
    kv.free(again);
    expect(kv.reserve(sequenceOf('hog', range(40, 52)), 12)).toEqual({ blocks: [6, 5, 4] });
    expect(kv.cachedTokens(sequenceOf('x', a.tokens))).toBe(8);
  });

  test('counts what a sequence finds as taken: it does not evict its own prefix', () => {
    const kv = create(5);
    kv.reserve(sequenceOf('other', [1]), 1);
    const a = sequenceOf('a', range(0, 9));
    run(kv, a);
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
    const kv = create(8);
    const a = sequenceOf('a', range(0, 13));
    run(kv, a);
    kv.free(a);
    a.computed = 0;
    expect(run(kv, a)).toEqual({ cached: 12, blocks: [1, 2, 3, 5] });
  });
});

test('truncation into a full block makes it partial again, found by nobody', () => {
  const kv = create(12);
  const a = sequenceOf('a', range(0, 9));
  run(kv, a);
  a.computed = 6;
  kv.truncate(a, 6);
  a.tokens.splice(6, 3, 70, 71, 72);
  kv.checkInvariants();
  expect(run(kv, a)).toEqual({ cached: 0, blocks: [1, 2, 4] });
  expect(kv.cachedTokens(sequenceOf('b', range(0, 9)))).toBe(4);
  expect(kv.cachedTokens(sequenceOf('c', [...range(0, 6), 70, 71, 72]))).toBe(8);
});

test('any order of run, fork, free and eviction: what is found holds exactly the tokens asked for', () => {
  /** What each block holds, as a runner would have written it. */
  const memory = new Map<number, { token: TokenId; history: string }[]>();
  const write = (kv: KvAllocator, sequence: Sequence, salt: string) => {
    const known = sequence.computed || kv.cachedTokens(sequence);
    const newTokens = sequence.tokens.length - known;
    if (sequence.tokens.length > kv.maxSequenceTokens || newTokens < 1) return;
    const reservation = kv.reserve(sequence, newTokens);
    if (reservation === undefined) return;
    for (const { from, to } of reservation.copies ?? []) memory.set(to, [...(memory.get(from) ?? [])]);
    const { blockSize } = kv.pool;
    for (let at = 0; at < sequence.tokens.length; at++) {
      const block = reservation.blocks[Math.floor(at / blockSize)]!;
      const slots = memory.get(block) ?? [];
      memory.set(block, slots);
      const history = `${salt}${sequence.tokens.slice(0, at)}`;
      if (at >= known) slots[at % blockSize] = { token: sequence.tokens[at]!, history };
      expect(slots[at % blockSize]).toEqual({ token: sequence.tokens[at], history });
    }
    sequence.computed += newTokens;
    kv.publish(sequence);
  };
  const step = fc.record({
    id: fc.nat(3),
    verb: fc.constantFrom('start', 'start', 'grow', 'grow', 'fork', 'free', 'preempt'),
    tokens: fc.array(fc.nat(1), { minLength: 1, maxLength: 9 }),
    salt: fc.constantFrom('', '', 'x'),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 10 }),
      fc.integer({ min: 1, max: 4 }),
      fc.constantFrom(undefined, () => 7),
      fc.array(step, { maxLength: 50 }),
      (blocks, blockSize, hash, steps) => {
        memory.clear();
        const kv = create(blocks, { blockSize, ...(hash && { hash }) });
        const slots: (Sequence | undefined)[] = [];
        const salts = new Map<Sequence, string>();
        for (const { id, verb, tokens, salt } of steps) {
          const sequence = slots[id];
          if (verb === 'start' && sequence === undefined) {
            slots[id] = sequenceOf(`${id}`, tokens, salt);
            salts.set(slots[id], salt);
            write(kv, slots[id], salt);
          } else if (verb === 'fork' && sequence === undefined && slots[0] !== undefined) {
            const parent = slots[0];
            const child = sequenceOf(`${id}`, parent.tokens.slice(0, parent.promptLength), salts.get(parent));
            child.parent = parent;
            slots[id] = child;
            salts.set(child, salts.get(parent)!);
            write(kv, child, salts.get(parent)!);
          } else if (sequence !== undefined && verb === 'grow') {
            sequence.tokens.push(tokens[0]!);
            write(kv, sequence, salts.get(sequence)!);
          } else if (sequence !== undefined && (verb === 'free' || verb === 'preempt')) {
            kv.free(sequence);
            sequence.computed = 0;
            if (verb === 'free') slots[id] = undefined;
          }
          kv.checkInvariants();
        }
        for (const sequence of slots) if (sequence) kv.free(sequence);
        expect(kv.used).toBe(0);
        kv.checkInvariants();
      },
    ),
    { numRuns: 200 },
  );
});
