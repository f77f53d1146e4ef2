import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fakeSequence } from '../../../test/support/fakes.ts';
import { createPaged } from '../../../test/support/kv-caches.ts';

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
        const kv = createPaged(blocks, blockSize);
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
