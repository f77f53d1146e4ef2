import {
  asapScheduler,
  concatMap,
  delayWhen,
  EMPTY,
  ignoreElements,
  map,
  mergeMap,
  observeOn,
  of,
  range,
  repeat,
  Subject,
} from 'rxjs';
import { describe, expect, it } from 'vitest';
import { scriptedEngine, scriptedRecipe } from '../../test/support/scripted-engine.ts';
import { turns as eventLoopTurns, until } from '../../test/support/waiting.ts';
import type { Computed, PlannedRow, Sequence, Slot, StagedRecipe, StepStage, Tick } from '../core/contracts/index.ts';
import { contiguousSlots } from '../core/memory/contiguous-slots.ts';
import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { oneAtATime } from '../core/scheduling/one-at-a-time.ts';
import type { Policy } from '../core/scheduling/policy.ts';
import { decodeStep } from '../operators/decode-step.ts';
import { sample } from '../operators/sample.ts';
import { schedule } from '../operators/schedule.ts';
import { tokenize } from '../operators/tokenize.ts';

describe('a stage that does not do what the types ask for', () => {
  it.each([
    ['no step', (_: Computed) => EMPTY],
    ['several steps', (step: Computed) => of(step, step)],
    ['several steps without an end', (step: Computed) => of(step).pipe(repeat())],
  ])('ends the requests of a stage that gives %s', async (_, give) => {
    let isFaulty = true;
    const { engine } = await scriptedEngine(
      {},
      { maxNumSeqs: 2 },
      {
        schedule: schedule(continuousBatching()),
        kv: contiguousSlots(),
        decode: (context) => (step$) =>
          step$.pipe(
            decodeStep()(context),
            concatMap((step) => (isFaulty ? give(step) : of(step))),
          ),
      },
    );
    const requests = ['abc', 'm'].map((prompt) => engine.generate(prompt, 5));
    for (const result of await Promise.allSettled(requests)) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'RXLLM_RECIPE_INVALID' } });
    }
    isFaulty = false;
    expect(await engine.generate('x', 2)).toMatchObject({ text: 'yz' });
    await engine.close();
  });

  it.each(['schedule', 'allocate', 'prefill', 'decode', 'sample', 'detokenize', 'stop', 'settle', 'meter'] as const)(
    'names the %s stage where it gives no whole step, and serves the next request',
    async (stage) => {
      let isFaulty = true;
      const lossy = (whole: StepStage): Slot<Tick, Tick> => {
        const slot = scriptedRecipe({}).recipe[whole] as unknown as Slot<Tick, Tick>;
        return (context) => (step$) =>
          slot(context)(step$).pipe(map((step) => (isFaulty ? (undefined as unknown as Tick) : step)));
      };
      const { engine } = await scriptedEngine({}, {}, { [stage]: lossy(stage) });
      await expect(engine.generate('abc', 5)).rejects.toMatchObject({
        code: 'RXLLM_RECIPE_INVALID',
        message: expect.stringContaining(`The ${stage} stage gave a step without "index"`),
      });
      isFaulty = false;
      expect(await engine.generate('x', 2)).toMatchObject({ text: 'yz' });
      await engine.close();
    },
  );

  it('says what a sampler must add', async () => {
    const lossy = (() => map((step: Computed) => ({ ...step }))) as unknown as StagedRecipe['sample'];
    const { engine } = await scriptedEngine({}, {}, { sample: lossy });
    await expect(engine.generate('abc', 5)).rejects.toThrow(
      'The sample stage gave a step without "produced": it keeps what it is given ({ ...step }) and adds produced, failed, late.',
    );
    await engine.close();
  });

  it.each<[string, (rows: readonly PlannedRow[]) => PlannedRow[], RegExp]>([
    [
      'too many tokens',
      ([row]) => [{ ...row!, newTokens: row!.newTokens + 5 }],
      /planned 8 new tokens of the .* 3 are to run/,
    ],
    ['no token', ([row]) => [{ ...row!, newTokens: 0 }], /planned 0 new tokens/],
    ['half a token', ([row]) => [{ ...row!, newTokens: 0.5 }], /planned 0.5 new tokens/],
    ['a sequence twice', ([row]) => [row!, row!], /planned two rows of the sequence/],
  ])('refuses a plan with %s, and serves the next request', async (_, change, message) => {
    let isFaulty = true;
    const faulty: Policy = (state) => {
      const plan = oneAtATime()(state);
      return isFaulty && plan.rows.length > 0 ? { ...plan, rows: change(plan.rows) } : plan;
    };
    const { engine } = await scriptedEngine({}, {}, { schedule: schedule(faulty) });
    const error = { code: 'RXLLM_RECIPE_INVALID', message: expect.stringMatching(message) };
    await expect(engine.generate('abc', 5)).rejects.toMatchObject(error);
    isFaulty = false;
    expect(await engine.generate('x', 2)).toMatchObject({ text: 'yz' });
    await engine.close();
  });

  it.each([99_999, -1, 1.5, Number.NaN])('refuses a sampler that chooses the token %d', async (id) => {
    const wrong: StagedRecipe['sample'] = (context) => (step$) =>
      step$.pipe(
        sample()(context),
        map((step) => ({ ...step, produced: new Map(Array.from(step.produced.keys(), (key) => [key, [id]])) })),
      );
    const { engine } = await scriptedEngine({}, {}, { sample: wrong });
    await expect(engine.generate('abc', 5)).rejects.toThrow(`The sample stage chose the token ${id} for the sequence `);
    await engine.close();
  });

  it('ends the requests of a policy that gives more steps than can be counted', async () => {
    const endless: StagedRecipe['schedule'] = (context) => (tick$) =>
      schedule(continuousBatching())(context)(tick$).pipe(mergeMap((step) => range(0, 300_000).pipe(map(() => step))));
    const { engine } = await scriptedEngine({}, {}, { schedule: endless, kv: contiguousSlots() });
    await expect(engine.generate('abc', 5)).rejects.toMatchObject({ code: 'RXLLM_RECIPE_INVALID' });
    await engine.close();
  });

  it.each([
    ['nothing', ignoreElements()],
    ['no sequence', map(() => undefined as unknown as Sequence)],
  ])('refuses a request of which its tokenizer makes %s', async (_, make) => {
    const { engine } = await scriptedEngine(
      {},
      {},
      { tokenize: (context) => (request$) => request$.pipe(tokenize()(context), make) },
    );
    await expect(engine.generate('abc', 1)).rejects.toMatchObject({ code: 'RXLLM_RECIPE_INVALID' });
    await engine.close();
  });

  it('takes the first of the sequences that a tokenizer makes of a request', async () => {
    const { engine } = await scriptedEngine(
      {},
      {},
      { tokenize: (context) => (request$) => request$.pipe(tokenize()(context), repeat()) },
    );
    expect(await engine.generate('x', 2)).toMatchObject({ text: 'yz' });
    await engine.close();
  });

  it('holds up its engine’s close, idly, until it emits', async () => {
    const go$ = new Subject<void>();
    let turns = 0;
    const betweenSteps = () => {
      turns += 1;
      return of(undefined).pipe(observeOn(asapScheduler));
    };
    const stuck: Slot<Computed, Computed> = (context) => (step$) =>
      step$.pipe(
        decodeStep()(context),
        delayWhen(() => go$),
      );
    const { engine } = await scriptedEngine({}, { betweenSteps }, { decode: stuck });
    const result = engine.generate('abc', 5);
    await until(() => go$.observed);
    let isClosed = false;
    const closed = engine.close().then(() => {
      isClosed = true;
    });
    const before = turns;
    await eventLoopTurns();
    expect({ isClosed, turns }).toEqual({ isClosed: false, turns: before });
    go$.next();
    expect(await result).toMatchObject({ finishReason: 'abort' });
    await closed;
  });
});
