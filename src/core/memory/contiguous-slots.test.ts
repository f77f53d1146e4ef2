import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fakeModel, fakeOptions, fakeSequence } from '../../../test/support/fakes.ts';
import { contiguousSlots } from './contiguous-slots.ts';
import { kvBytesPerToken } from './kv-bytes.ts';

/** 2 × 2 layers × 2 kvHeads × 16 headDim × 4 bytes = 512 bytes a token: 2 MiB hold 4,096 tokens. */
const model = fakeModel({ layers: 2, kvHeads: 2, headDim: 16 });
const create = (slots: number, maxModelLen = 8) => contiguousSlots({ slots })(model, fakeOptions({ maxModelLen }));

describe('size', () => {
  test('bytes a token', () => {
    expect(kvBytesPerToken(model.config)).toBe(512);
  });

  test('without a number, as many regions as fit in the memory', () => {
    const kv = contiguousSlots()(model, fakeOptions({ kvCacheMemoryMiB: 2, maxModelLen: 1000 }));
    expect(kv.pool).toEqual({ layout: 'contiguous', blocks: 4, blockSize: 1000 });
    expect({ total: kv.total, used: kv.used, longest: kv.maxSequenceTokens }).toEqual({
      total: 4,
      used: 0,
      longest: 1000,
    });
  });

  test('the number given wins over the memory', () => {
    const kv = contiguousSlots({ slots: 3 })(model, fakeOptions({ kvCacheMemoryMiB: 2, maxModelLen: 1000 }));
    expect(kv.total).toBe(3);
  });

  test.each([{}, { slots: 1 }])('too little memory for one region says how much it takes: %j', (given) => {
    expect(() => contiguousSlots(given)(model, fakeOptions({ kvCacheMemoryMiB: 2, maxModelLen: 4097 }))).toThrow(
      expect.objectContaining({
        code: 'RXLLM_OPTION_INVALID',
        param: 'kvCacheMemoryMiB',
        message:
          'kvCacheMemoryMiB 2 is too small: one sequence of maxModelLen 4097 tokens needs 3 MiB. ' +
          'Raise kvCacheMemoryMiB or lower maxModelLen.',
      }),
    );
  });

  test('more memory than there is is refused before it is asked for', () => {
    expect(() => create(1e10)).toThrow(
      expect.objectContaining({
        code: 'RXLLM_OPTION_INVALID',
        param: 'slots',
        message: expect.stringMatching(
          /^slots: a KV cache of 10000000000 × 8 tokens takes 39062500 MiB, and this machine has \d+ MiB in all\. Lower/,
        ),
      }),
    );
    const options = fakeOptions({ maxNumSeqs: 1e9, kvCacheMemoryMiB: 1e9 });
    expect(() => contiguousSlots()(model, options)).toThrow(expect.objectContaining({ param: 'kvCacheMemoryMiB' }));
  });

  test.each([0, -1, 1.5, Number.NaN])('slots: %d is refused', (slots) => {
    expect(() => create(slots)).toThrow(expect.objectContaining({ code: 'RXLLM_OPTION_INVALID', param: 'slots' }));
  });
});

describe('slots', () => {
  test('the lowest free one first; none left takes nothing', () => {
    const kv = create(2);
    const [a, b, c] = ['a', 'b', 'c'].map((id) => fakeSequence(id));
    expect(kv.reserve(a!, 3)).toEqual({ blocks: [0] });
    expect(kv.reserve(b!, 3)).toEqual({ blocks: [1] });
    expect(kv.reserve(c!, 3)).toBeUndefined();
    expect({ used: kv.used, blocks: c!.blocks }).toEqual({ used: 2, blocks: [] });
    kv.free(a!);
    expect(a!.blocks).toEqual([]);
    expect(kv.reserve(c!, 3)).toEqual({ blocks: [0] });
    kv.checkInvariants();
  });

  test('a snapshot tells who holds which, and does not change with it', () => {
    const kv = create(2);
    const [a, b] = [fakeSequence('a'), fakeSequence('b')];
    kv.reserve(a, 3);
    kv.reserve(b, 3);
    const before = kv.snapshot();
    kv.free(a);
    expect(before).toEqual({
      tables: new Map([
        ['a', [0]],
        ['b', [1]],
      ]),
      cached: [],
    });
    expect(kv.snapshot().tables).toEqual(new Map([['b', [1]]]));
  });

  test('a sequence keeps its slot up to the end of its region', () => {
    const kv = create(2, 8);
    const a = fakeSequence('a');
    kv.reserve(a, 3);
    a.computed = 3;
    expect(kv.reserve(a, 5)).toEqual({ blocks: [0] });
    kv.truncate(a, 3);
    kv.publish(a);
    expect({ used: kv.used, blocks: a.blocks, cached: a.cached }).toEqual({ used: 1, blocks: [0], cached: 0 });
  });

  test('past the end of its region it is refused, and takes no slot', () => {
    const kv = create(1, 8);
    const long = fakeSequence('long');
    expect(() => kv.reserve(long, 9)).toThrow(
      expect.objectContaining({
        code: 'RXLLM_CONTEXT_LENGTH_EXCEEDED',
        message:
          'Sequence long would be 9 tokens long, but its KV region holds 8. ' +
          'Shorten the prompt, ask for fewer tokens, or raise maxModelLen.',
      }),
    );
    expect(kv.used).toBe(0);
  });

  test('freeing twice, or what was never reserved, changes nothing', () => {
    const kv = create(2);
    const [a, b] = [fakeSequence('a'), fakeSequence('b')];
    kv.reserve(a, 1);
    kv.free(a);
    kv.reserve(b, 1);
    kv.free(a);
    kv.free(fakeSequence('c'));
    expect({ used: kv.used, blocks: b.blocks }).toEqual({ used: 1, blocks: [0] });
    kv.checkInvariants();
  });

  test('the books are checked: a block table that someone else changed', () => {
    const kv = create(2);
    const a = fakeSequence('a');
    kv.reserve(a, 1);
    a.blocks[0] = 1;
    expect(() => kv.checkInvariants()).toThrow('Slot 0 is given to sequence a, whose blocks are [1].');
  });
});

test('any order of reserve and free: slots never shared, lowest first, all come back', () => {
  const step = fc.record({
    id: fc.nat(5),
    verb: fc.constantFrom('reserve', 'free'),
    tokens: fc.integer({ min: 1, max: 8 }),
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), (slots, steps) => {
      const kv = create(slots, 8);
      const sequences = Array.from({ length: 6 }, (_, id) => fakeSequence(String(id)));
      const owner = new Map<number, number>();
      for (const { id, verb, tokens } of steps) {
        const sequence = sequences[id]!;
        const held = [...owner].find(([, who]) => who === id)?.[0];
        if (verb === 'free') {
          kv.free(sequence);
          if (held !== undefined) owner.delete(held);
        } else {
          const lowest = Array.from({ length: slots }, (_, slot) => slot).find((slot) => !owner.has(slot));
          const expected = held ?? lowest;
          expect(kv.reserve(sequence, tokens)).toEqual(expected === undefined ? undefined : { blocks: [expected] });
          if (expected !== undefined) owner.set(expected, id);
        }
        kv.checkInvariants();
        expect(kv.used).toBe(owner.size);
      }
      for (const sequence of sequences) kv.free(sequence);
      expect(kv.used).toBe(0);
      kv.checkInvariants();
    }),
  );
});
