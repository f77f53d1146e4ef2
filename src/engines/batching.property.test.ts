import fc from 'fast-check';
import { tap, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { virtualEngine } from '../../test/support/virtual-engine.ts';
import type { Observer, Planned, Tick } from '../core/contracts/index.ts';
import { pagedBlocks } from '../core/memory/paged-blocks.ts';
import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { staticBatching } from '../core/scheduling/static-batching.ts';
import { schedule } from '../operators/schedule.ts';

const MAX_NUM_SEQS = 3;
const BUDGET = 6;

const arrival = fc.record({
  at: fc.nat(20),
  prompt: fc.integer({ min: 1, max: 12 }),
  maxTokens: fc.integer({ min: 1, max: 12 }),
  /** Frames after its arrival; most are never cancelled. */
  cancelAfter: fc.option(fc.nat(15), { freq: 2 }),
});

type Arrival = typeof arrival extends fc.Arbitrary<infer A> ? A : never;

const policies = {
  continuous: continuousBatching({ maxNumSeqs: MAX_NUM_SEQS, maxNumBatchedTokens: BUDGET }),
  static: staticBatching({ batchSize: MAX_NUM_SEQS, maxWaitMs: 2 }),
};

/** Whatever arrives, however long, and whoever is cancelled, over a pool that is often too small for all. */
async function play(policy: keyof typeof policies, arrivals: readonly Arrival[]) {
  const admitted: string[] = [];
  const watch: Observer = <T extends Tick>(context: Parameters<Observer>[0], stage: string) =>
    tap<T>((step) => {
      if (stage !== 'schedule') return;
      const { rows } = step as unknown as Planned;
      expect(context.running.length).toBeLessThanOrEqual(MAX_NUM_SEQS);
      const tokens = rows.reduce((sum, row) => sum + row.newTokens, 0);
      if (policy === 'continuous') expect(tokens).toBeLessThanOrEqual(BUDGET);
      for (const { sequence } of rows) if (!admitted.includes(sequence.id)) admitted.push(sequence.id);
    });
  const kv = pagedBlocks({ blockSize: 4, blocks: 9 });
  const { engine, scheduler } = await virtualEngine(
    {},
    { schedule: schedule(policies[policy]), kv, observers: [watch] },
    { maxQueue: 100 },
  );
  let used = 0;
  engine.stats$.subscribe((stats) => {
    used = stats.blocksUsed;
  });
  const texts: (string | undefined)[] = arrivals.map(() => undefined);
  scheduler.run(() => {
    arrivals.forEach(({ at, prompt, maxTokens, cancelAfter }, i) => {
      timer(at, scheduler).subscribe(() => {
        let streamed = '';
        const subscription = engine
          .stream({ id: `${i}`, prompt: 'a'.repeat(prompt), params: { maxTokens } })
          .subscribe((event) => {
            if (event.type === 'token') streamed += event.text;
            if (event.type !== 'finished') return;
            expect(event.result.text).toBe(streamed);
            texts[i] = streamed;
          });
        if (cancelAfter !== null) timer(cancelAfter, scheduler).subscribe(() => subscription.unsubscribe());
      });
    });
  });
  return { texts, used, admitted };
}

describe.each(['continuous', 'static'] as const)('%s batching, whatever arrives', (policy) => {
  it('ends every request with its own text, keeps to its limits and leaks nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(arrival, { minLength: 1, maxLength: 10 }), async (arrivals) => {
        const { texts, used } = await play(policy, arrivals);
        expect(used).toBe(0);
        arrivals.forEach(({ maxTokens, cancelAfter }, i) => {
          const whole = 'bcdefghijklm'.slice(0, maxTokens);
          expect(cancelAfter === null ? [whole] : [whole, undefined]).toContain(texts[i]);
        });
      }),
      { numRuns: 100 },
    );
  });

  it('admits in order of arrival', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(arrival, { minLength: 1, maxLength: 10 }), async (given) => {
        const arrivals = given.map((one) => ({ ...one, cancelAfter: null }));
        const { admitted } = await play(policy, arrivals);
        const byArrival = arrivals.map(({ at }, i) => ({ at, id: `${i}` })).sort((a, b) => a.at - b.at);
        expect(admitted).toEqual(byArrival.map(({ id }) => id));
      }),
      { numRuns: 100 },
    );
  });
});
