import fc from 'fast-check';
import { BehaviorSubject, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { virtualOptions } from '../../../test/support/context.ts';
import { testScheduler } from '../../../test/support/marbles.ts';
import { scriptedRecipe } from '../../../test/support/scripted-engine.ts';
import { scriptedProposer } from '../../../test/support/scripted-proposer.ts';
import { toyModel } from '../../../test/support/toy-model.ts';
import type { StagedRecipe, TokenId } from '../../core/contracts/index.ts';
import { prefixCached } from '../../core/memory/prefix-cached.ts';
import { type RecordLine, recordedOptions } from '../../core/recording/lines.ts';
import { createRandom } from '../../core/sampling/random.ts';
import { continuousBatching } from '../../core/scheduling/continuous-batching.ts';
import { draft } from '../../operators/draft.ts';
import { record } from '../../operators/record.ts';
import { schedule } from '../../operators/schedule.ts';
import { verify } from '../../operators/verify.ts';
import { createEngine } from '../create-engine.ts';
import { observe, pipeSlots } from '../swap.ts';
import { replay } from './replay.ts';

const SEED = 3;

const arrival = fc.record({
  at: fc.nat(40),
  prompt: fc.integer({ min: 1, max: 14 }),
  maxTokens: fc.integer({ min: 1, max: 12 }),
  cancelAfter: fc.option(fc.nat(30), { freq: 1 }),
  deadlineMs: fc.option(fc.integer({ min: 1, max: 60 }), { freq: 1 }),
  /** Whether the reader keeps up, each for so many frames. */
  demand: fc.array(fc.tuple(fc.nat(8), fc.boolean()), { maxLength: 5 }),
  fork: fc.boolean(),
});
type Arrival = typeof arrival extends fc.Arbitrary<infer A> ? A : never;

/** Goes round a few letters, so that prompts and texts have beginnings in common. */
const next = (history: readonly TokenId[]): TokenId => 3 + ((history.at(-1)! + history.length) % 5);

/** Drafts of which some stand, over a pool that is too small for all; passes take from 0 to 3 frames. */
function recipe(script: Parameters<typeof scriptedRecipe>[0] = {}): StagedRecipe {
  const proposer = scriptedProposer(({ tokens }, count) => {
    const text = [...tokens];
    while (text.length < tokens.length + count) text.push(text.length % 4 === 0 ? 20 : next(text));
    return text.slice(tokens.length);
  });
  const change = {
    schedule: schedule(continuousBatching()),
    kv: prefixCached({ blockSize: 4, blocks: 9 }),
    decode: pipeSlots(draft(proposer, { k: 3 }), verify()),
  };
  return scriptedRecipe({ next, ...script }, change).recipe;
}

/** `failing`: the forward passes that fail, by number. */
async function play(arrivals: readonly Arrival[], failing: readonly number[] = []): Promise<readonly RecordLine[]> {
  const lines: RecordLine[] = [];
  const clock = testScheduler();
  const delayMs = ({ rows, width }: { rows: number; width: number }) => (rows + width) % 4;
  const recorded = observe(
    recipe({ clock, delayMs, fail: (call) => (failing.includes(call) ? new Error('fault') : undefined) }),
    record((line) => lines.push(structuredClone(line))),
  );
  const engine = await createEngine(recorded, toyModel, {
    ...virtualOptions(clock),
    maxQueue: 100,
    maxPauseMs: 6,
    random: createRandom(SEED),
  });
  clock.run(() => {
    arrivals.forEach(({ at, prompt, maxTokens, cancelAfter, deadlineMs, demand, fork }, i) => {
      const demand$ = new BehaviorSubject(true);
      const request = { prompt: 'abcdeabcdeabcde'.slice(0, prompt), params: { maxTokens } };
      // No two arrive at the same time, as on a real clock.
      timer(at + i / 100, clock).subscribe(() => {
        const timed = { ...request, id: `${i}`, demand$, ...(deadlineMs !== null && { deadlineMs }) };
        const subscription = engine.stream(timed).subscribe({ error: () => {} });
        if (cancelAfter !== null) timer(cancelAfter, clock).subscribe(() => subscription.unsubscribe());
        let after = 0;
        for (const [frames, ready] of demand) {
          after += frames;
          timer(after, clock).subscribe(() => demand$.next(ready));
        }
        timer(after + 1, clock).subscribe(() => demand$.complete());
      });
      if (!fork) return;
      timer(at + (i + 0.5) / 100, clock).subscribe(() => {
        engine.stream({ ...request, forkOf: `${i}` }).subscribe({ error: () => {} });
      });
    });
  });
  const options = recordedOptions(engine.options);
  return [{ type: 'engine', engine: 'scripted', model: 'toy', seed: SEED, options }, ...lines];
}

describe('a recording of an engine that drafts, with little memory', () => {
  it('replays to the same plans and events, whoever is cancelled, late or behind', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(arrival, { minLength: 1, maxLength: 12 }), async (arrivals) => {
        const { parting } = await replay(recipe(), toyModel, await play(arrivals));
        expect(parting).toBeUndefined();
      }),
      { numRuns: 200 },
    );
  });

  it('replays to the same plans and events, whichever passes fail', { timeout: 60_000 }, async () => {
    const failing = fc.uniqueArray(fc.nat(40), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(arrival, { minLength: 1, maxLength: 12 }), failing, async (arrivals, calls) => {
        const { parting } = await replay(recipe(), toyModel, await play(arrivals, calls));
        expect(parting).toBeUndefined();
      }),
      { numRuns: 200 },
    );
  });
});
