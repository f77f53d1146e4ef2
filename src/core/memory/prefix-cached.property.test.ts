import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPrefixCached, sequenceOf } from '../../../test/support/kv-caches.ts';
import type { KvAllocator, Sequence, TokenId } from '../contracts/index.ts';

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
        const kv = createPrefixCached(blocks, { blockSize, ...(hash && { hash }) });
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
