import { firstValueFrom, mergeMap, take, tap, timer, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { scriptedEngine, scriptedRecipe } from '../../test/support/scripted-engine.ts';
import { letters, toyModel } from '../../test/support/toy-model.ts';
import { at, virtualEngine, word, words } from '../../test/support/virtual-engine.ts';
import type { EngineStats } from '../core/contracts/index.ts';
import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { oneAtATime } from '../core/scheduling/one-at-a-time.ts';
import { schedule } from '../operators/schedule.ts';
import { createEngine } from './create-engine.ts';
import { resolveOptions } from './options.ts';
import { findEngine } from './registry.ts';

describe('an engine', () => {
  it('answers a request token by token, a step each', async () => {
    const { engine, scheduler, runner } = await virtualEngine();
    const seen: string[] = [];
    scheduler.run(() => {
      words(engine.stream({ prompt: 'abc', params: { maxTokens: 3 } }))
        .pipe(tap((text) => seen.push(`${scheduler.now()} ${text}`)))
        .subscribe();
    });
    expect(seen).toEqual(['0 queued', '1 prefill 3/3', '1 d', '2 e', '3 f', '3 length:def']);
    expect(runner.calls.map(({ ids }) => ids)).toEqual([[letters('abc')], [letters('d')], [letters('e')]]);
  });

  it('measures what it did', async () => {
    const { engine, scheduler } = await virtualEngine({ delayMs: 4 });
    scheduler.run(({ expectObservable }) => {
      const metrics = engine
        .stream({ prompt: 'abc', params: { maxTokens: 3 } })
        .pipe(mergeMap((event) => (event.type === 'finished' ? [event.result.metrics] : [])));
      expectObservable(metrics).toBe('15ms (m|)', {
        m: { throughput: 200, inputTokens: 3, outputTokens: 3, ttftMs: 5, tpotMs: 5, queueMs: 1 },
      });
    });
  });

  it('lets a second request wait for the first, and runs prompts in chunks', async () => {
    const { engine, scheduler, runner } = await virtualEngine(
      {},
      { schedule: schedule(oneAtATime({ prefillChunk: 2 })) },
    );
    const seen: string[] = [];
    scheduler.run(() => {
      for (const prompt of ['abc', 'mn']) {
        engine
          .stream({ prompt, params: { maxTokens: 1 } })
          .subscribe((event) => seen.push(`${scheduler.now()} ${word(event)}`));
      }
    });
    expect(seen).toEqual([
      '0 queued',
      '0 queued',
      '1 prefill 2/3',
      '2 prefill 3/3',
      '2 d',
      '2 length:d',
      '3 prefill 2/2',
      '3 o',
      '3 length:o',
    ]);
    expect(runner.calls.map(({ ids, positions, blockTables }) => [ids[0], positions[0], blockTables[0]])).toEqual([
      [letters('ab'), 0, [0]],
      // A token left over runs with the one before it.
      [letters('bc'), 1, [0]],
      [letters('mn'), 0, [0]],
    ]);
  });

  it('sleeps when there is nothing to do, and wakes for the next request', async () => {
    const { engine, scheduler, steps } = await virtualEngine();
    const turns: number[] = [];
    scheduler.run(() => {
      const request = engine.stream({ prompt: 'abc', params: { maxTokens: 2 } });
      for (const frame of [0, 500]) at(frame, request, scheduler).subscribe();
      for (const frame of [10, 499, 1000]) timer(frame, scheduler).subscribe(() => turns.push(steps()));
    });
    // Two steps a request, and an empty one before it sleeps.
    expect(turns).toEqual([3, 3, 6]);
  });

  it.each([
    ['while it waits', 1, 0],
    ['between two chunks of its prompt', 0, 7],
    ['during a forward pass', 0, 13],
    ['while it decodes', 0, 50],
  ])('forgets a request cancelled %s', async (_, index, frame) => {
    const { engine, scheduler, runner } = await virtualEngine(
      { delayMs: 5 },
      { schedule: schedule(oneAtATime({ prefillChunk: 4 })) },
    );
    const seen: string[] = [];
    let passes = 0;
    const stats: EngineStats[] = [];
    engine.stats$.subscribe((value) => stats.push(value));
    scheduler.run(() => {
      const requests = ['abcdefghij', 'klmnopqrst'].map((prompt, which) =>
        engine
          .stream({ prompt, params: { maxTokens: which === index ? 40 : 2 } })
          .subscribe((event) => seen.push(`${which}`.repeat(event.type === 'queued' ? 0 : 1))),
      );
      timer(frame, scheduler).subscribe(() => {
        requests[index]!.unsubscribe();
        passes = runner.calls.length;
        seen.push('cancel');
      });
    });
    expect(seen.slice(seen.indexOf('cancel') + 1)).not.toContain(`${index}`);
    expect(seen.at(-1)).toBe(`${1 - index}`);
    expect(stats.at(-1)).toMatchObject({ waiting: 0, running: 0, blocksUsed: 0 });
    // The running pass may end; none starts for the cancelled one after it.
    const prompt = letters(index === 0 ? 'abcdefghij' : 'klmnopqrst');
    expect(runner.calls.slice(passes).filter(({ positions, ids }) => prompt[positions[0]!] === ids[0]![0])).toEqual([]);
  });

  it('refuses a budget that not every sequence could decode in', async () => {
    await expect(scriptedEngine({}, { maxNumSeqs: 8, maxNumBatchedTokens: 4 })).rejects.toMatchObject({
      code: 'RXLLM_OPTION_INVALID',
      param: 'maxNumBatchedTokens',
    });
  });

  it('refuses an option that there is not, with those that there are', async () => {
    const misspelt = { maxNumSeq: 4 } as object;
    await expect(scriptedEngine({}, misspelt)).rejects.toMatchObject({
      code: 'RXLLM_OPTION_INVALID',
      param: 'maxNumSeq',
      message: expect.stringMatching(/"maxNumSeq"; there is .*maxNumSeqs, .*kvCacheMemoryMiB\.$/),
    });
  });

  it.each([
    ['a name', 'kv-cache', "findEngine('kv-cache').recipe"],
    ['a policy', continuousBatching, 'swap(continuous, { name, schedule: schedule(policy) })'],
    ['an entry of the registry', findEngine('kv-cache'), 'findEngine(name).recipe'],
    ['nothing', undefined, 'findEngine(name).recipe'],
  ])('says what it takes where it is given %s for a recipe', async (_, given, message) => {
    await expect(createEngine(given as never, toyModel)).rejects.toMatchObject({
      code: 'RXLLM_RECIPE_INVALID',
      message: expect.stringContaining(message),
    });
  });

  it('has a budget in which every sequence can decode where none is given', () => {
    expect(resolveOptions(toyModel, { maxNumSeqs: 4 }).maxNumBatchedTokens).toBe(512);
    expect(resolveOptions(toyModel, { maxNumSeqs: 1000 }).maxNumBatchedTokens).toBe(1000);
  });

  it.each(['schedule', 'decode'] as const)('leaves no runner behind where its %s slot cannot be made', async (slot) => {
    const { recipe, runtime } = scriptedRecipe(
      {},
      {
        [slot]: () => {
          throw new Error('faulty slot');
        },
      },
    );
    await expect(createEngine(recipe, toyModel)).rejects.toThrow('faulty slot');
    const batch = { rows: 1, width: 1, ids: [[5]], positions: [0], blockTables: [[0]], logitsAt: [0] };
    await expect(firstValueFrom(runtime.runners[0]!.forward(batch))).rejects.toThrow('disposed');
  });

  it('lets a reader take as much as it wants', async () => {
    const { engine, scheduler, runner } = await virtualEngine();
    scheduler.run(({ expectObservable }) => {
      const request = words(engine.stream({ prompt: 'abc', params: { maxTokens: 20 } })).pipe(take(4), toArray());
      expectObservable(request).toBe('--(r|)', { r: ['queued', 'prefill 3/3', 'd', 'e'] });
    });
    expect(runner.calls.length).toBe(2);
  });
});
