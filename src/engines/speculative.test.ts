import fc from 'fast-check';
import { firstValueFrom, tap, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { scriptedRecipe } from '../../test/support/scripted-engine.ts';
import { scriptedProposer } from '../../test/support/scripted-proposer.ts';
import { letters, toyModel } from '../../test/support/toy-model.ts';
import { at, virtualEngine, word, words } from '../../test/support/virtual-engine.ts';
import type { EngineStats, GenerateResult, Observer, Settled, Tick } from '../core/contracts/index.ts';
import { prefixCached } from '../core/memory/prefix-cached.ts';
import type { Script } from '../core/runtime/scripted-runner.ts';
import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { decodeStep } from '../operators/decode-step.ts';
import { draft } from '../operators/draft.ts';
import { schedule } from '../operators/schedule.ts';
import { verify } from '../operators/verify.ts';
import { createEngine } from './create-engine.ts';
import { pipeSlots } from './swap.ts';

/** Right but for every `wrongAt`-th letter of the alphabet. */
const guessing = (wrongAt: number) =>
  scriptedProposer(({ tokens }, count) =>
    Array.from({ length: count }, (_, i) => Math.min(tokens.at(-1)! + 1 + i, 31)).map((id) =>
      id % wrongAt === 0 ? 3 : id,
    ),
  );

/** The real stages on a script that spells the alphabet, `k` tokens drafted. */
async function start({
  wrongAt = 1000,
  k = 3,
  blocks = 30,
  script = {} as Partial<Script>,
  observers = [] as Observer[],
} = {}) {
  const proposer = guessing(wrongAt);
  const engine = await virtualEngine(
    script,
    {
      schedule: schedule(continuousBatching({ maxNumSeqs: 3, maxNumBatchedTokens: 6 })),
      kv: prefixCached({ blocks, blockSize: 4 }),
      decode: pipeSlots(draft(proposer, { k, adapt: false }), verify()),
      observers,
    },
    { maxQueue: 100 },
  );
  return { ...engine, proposer };
}

/** A result of one request in virtual time. */
async function generate(prompt: string, params: object, options: Parameters<typeof start>[0] = {}) {
  const started = await start(options);
  const results: GenerateResult[] = [];
  started.scheduler.run(() => {
    started.engine.stream({ prompt, params }).subscribe((event) => {
      if (event.type === 'finished') results.push(event.result);
    });
  });
  return { ...started, result: results[0]! };
}

describe('an engine that speculates', () => {
  it('gives several tokens a step, each an event', async () => {
    const { engine, scheduler, steps } = await start();
    const told: [number, string][] = [];
    scheduler.run(() => {
      words(engine.stream({ prompt: 'ab', params: { maxTokens: 9 } })).subscribe((seen) => {
        told.push([scheduler.now(), seen]);
      });
    });
    const at = (frame: number, events: readonly string[]) => events.map((event) => [frame, event]);
    expect(told).toEqual([
      [0, 'queued'],
      ...at(1, ['prefill 2/2', 'c']),
      ...at(2, [...'defg']),
      ...at(3, [...'hijk', 'length:cdefghijk']),
    ]);
    // Prefill, two of verifying, and the one that finds nothing to do.
    expect(steps()).toBe(4);
  });

  it('measures what came of drafts, for the request and for the engine', async () => {
    const all: EngineStats[] = [];
    const started = await start({ wrongAt: 10 });
    started.engine.stats$.subscribe((stats) => all.push(stats));
    const results: GenerateResult[] = [];
    started.scheduler.run(() => {
      started.engine.stream({ prompt: 'ab', params: { maxTokens: 9 } }).subscribe((event) => {
        if (event.type === 'finished') results.push(event.result);
      });
    });
    // c, then drafted d e f and its own g, then h that was guessed wrong, then drafted i j and its own k.
    expect(results[0]!.text).toBe('cdefghijk');
    expect(results[0]!.metrics.specDecode).toEqual({
      drafts: 3,
      tokensProposed: 8,
      tokensAccepted: 5,
      acceptanceRate: 5 / 8,
      acceptedPerPosition: [2, 2, 1],
      meanAcceptedLength: 1 + 5 / 3,
    });
    expect(all.at(-1)!.specDecode).toEqual(results[0]!.metrics.specDecode);
  });

  it.each([1, 2, 3, 4, 5, 6, 7])('ends at max_tokens %d, in the middle of a run too', async (maxTokens) => {
    const { result } = await generate('ab', { maxTokens });
    expect(result).toMatchObject({ text: 'cdefghi'.slice(0, maxTokens), finishReason: 'length' });
    expect(result.outputIds).toEqual(letters('cdefghi'.slice(0, maxTokens)));
  });

  it.each([
    ['e', 'cd'],
    ['fg', 'cde'],
    ['gh', 'cdef'],
    ['hi', 'cdefg'],
  ])('ends at the stop string %s inside a run, without it', async (stop, text) => {
    const { result, runner, engine } = await generate('ab', { stop: [stop] });
    expect(result).toMatchObject({ text, finishReason: 'stop' });
    expect(result.outputIds).toEqual(letters(`${text}${stop}`));
    expect(runner.calls.length).toBeLessThan(5);
    await engine.close();
  });

  it('ends at an end token inside a run', async () => {
    const next: Script['next'] = (history) => (history.at(-1) === letters('e')[0] ? 0 : history.at(-1)! + 1);
    const { result } = await generate('ab', {}, { script: { next } });
    expect(result).toMatchObject({ text: 'cde', finishReason: 'stop', outputIds: [...letters('cde'), 0] });
  });

  it('publishes only what stood: a later prompt finds the text as it is', async () => {
    const { engine, scheduler } = await start({ wrongAt: 9, blocks: 12 });
    const seen: string[] = [];
    scheduler.run(() => {
      engine.stream({ prompt: 'ab', params: { maxTokens: 12 } }).subscribe();
      const second = engine.stream({ prompt: 'abcdefghijkl', params: { maxTokens: 2 } });
      at(30, second, scheduler).subscribe((event) => seen.push(word(event)));
    });
    expect(seen).toEqual(['queued', 'prefill 12/12', 'm', 'n', 'length:mn']);
  });
});

describe('cancelled while it is verified', () => {
  it('takes nothing with it: no event, no block, and the proposer lets go', async () => {
    const { engine, scheduler, proposer } = await start({ script: { delayMs: 4 } });
    let used = -1;
    engine.stats$.subscribe(({ blocksUsed }) => {
      used = blocksUsed;
    });
    const seen: string[] = [];
    scheduler.run(() => {
      const other = engine.stream({ prompt: 'k', params: { maxTokens: 6 } });
      other.subscribe((event) => seen.push(word(event)));
      const subscription = engine.stream({ prompt: 'ab', params: { maxTokens: 20 } }).subscribe();
      // The prefill takes frames 1 to 5, the first verify pass 6 to 10.
      timer(8, scheduler).subscribe(() => subscription.unsubscribe());
    });
    expect(seen.at(-1)).toBe('length:lmnopq');
    expect(used).toBe(0);
    expect(proposer.kept.size).toBe(0);
  });
});

const arrival = fc.record({
  at: fc.nat(20),
  prompt: fc.integer({ min: 1, max: 12 }),
  maxTokens: fc.integer({ min: 1, max: 12 }),
  cancelAfter: fc.option(fc.nat(15), { freq: 2 }),
});

describe('whatever arrives, over a pool that is often too small', () => {
  it('ends every request with its own text, keeps the books in order and leaks nothing', async () => {
    let preempted = 0;
    const run = fc.asyncProperty(
      fc.array(arrival, { minLength: 1, maxLength: 10 }),
      fc.integer({ min: 2, max: 9 }),
      fc.integer({ min: 1, max: 5 }),
      fc.nat(2),
      async (arrivals, wrongAt, k, delayMs) => {
        const watch: Observer = <T extends Tick>(_: unknown, stage: string) =>
          tap<T>((step) => {
            if (stage === 'meter') preempted += (step as unknown as Settled).preempted.length;
          });
        const { engine, scheduler, proposer } = await start({
          wrongAt,
          k,
          blocks: 9,
          script: { delayMs },
          observers: [watch],
        });
        let used = 0;
        engine.stats$.subscribe((stats) => {
          used = stats.blocksUsed;
        });
        const texts: (string | undefined)[] = arrivals.map(() => undefined);
        scheduler.run(() => {
          arrivals.forEach(({ at: frame, prompt, maxTokens, cancelAfter }, i) => {
            timer(frame, scheduler).subscribe(() => {
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
        expect(used).toBe(0);
        expect(proposer.kept.size).toBe(0);
        arrivals.forEach(({ maxTokens, cancelAfter }, i) => {
          const whole = 'bcdefghijklm'.slice(0, maxTokens);
          expect(cancelAfter === null ? [whole] : [whole, undefined]).toContain(texts[i]);
        });
      },
    );
    await fc.assert(run, { numRuns: 150, seed: 5 });
    expect(preempted).toBeGreaterThan(20);
  });
});

describe('what a slot starts for itself', () => {
  it('is waited for, and goes with the engine', async () => {
    const told: string[] = [];
    const { recipe } = scriptedRecipe(
      {},
      {
        decode: (context) => {
          const ready = firstValueFrom(timer(1)).then(() => told.push('ready'));
          context.owned.push(ready.then(() => ({ dispose: async () => void told.push('disposed') })));
          return decodeStep()(context);
        },
      },
    );
    const engine = await createEngine(recipe, toyModel);
    expect(told).toEqual(['ready']);
    await engine.close();
    expect(told).toEqual(['ready', 'disposed']);
  });

  it('refuses the engine where it does not start', async () => {
    const { recipe } = scriptedRecipe(
      {},
      {
        decode: (context) => {
          context.owned.push(Promise.reject(new Error('no draft model')));
          return decodeStep()(context);
        },
      },
    );
    await expect(createEngine(recipe, toyModel)).rejects.toThrow('no draft model');
  });
});
