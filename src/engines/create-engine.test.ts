import { BehaviorSubject, delay, firstValueFrom, map, mergeMap, take, tap, timer, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { scriptedEngine } from '../../test/support/scripted-engine.ts';
import { letters } from '../../test/support/toy-model.ts';
import { at, virtualEngine, word, words } from '../../test/support/virtual-engine.ts';
import type { EngineStats, StagedRecipe } from '../core/contracts/index.ts';
import { contiguousSlots } from '../core/memory/contiguous-slots.ts';
import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { oneAtATime } from '../core/scheduling/one-at-a-time.ts';
import { schedule } from '../operators/schedule.ts';
import { tokenize } from '../operators/tokenize.ts';

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

  it('ends a request with its error when a pass fails, and serves the next', async () => {
    const { engine, scheduler } = await virtualEngine({
      fail: (call) => (call === 2 ? new Error('no memory') : undefined),
    });
    const seen: string[] = [];
    scheduler.run(() => {
      for (const prompt of ['abc', 'mn']) {
        words(engine.stream({ prompt, params: { maxTokens: 4 } })).subscribe({
          next: (text) => seen.push(text),
          error: (error: Error & { code: string }) => seen.push(error.code),
        });
      }
    });
    expect(seen).toEqual([
      ...['queued', 'queued', 'prefill 3/3', 'd', 'e', 'RXLLM_RUNTIME_FAILED'],
      ...['prefill 2/2', 'o', 'p', 'q', 'r', 'length:opqr'],
    ]);
  });

  it('survives a stage that throws, whichever it is', async () => {
    let throws = true;
    const faulty: StagedRecipe['meter'] = () =>
      tap(() => {
        if (throws) throw new Error('faulty meter');
      });
    const { engine, scheduler } = await virtualEngine({}, { meter: faulty });
    const seen: string[] = [];
    scheduler.run(() => {
      for (const prompt of ['abc', 'x']) {
        words(engine.stream({ prompt, params: { maxTokens: 1 } })).subscribe({
          next: (text) => seen.push(text),
          error: (error: Error) => seen.push(error.message),
        });
      }
      timer(10, scheduler).subscribe(() => {
        throws = false;
        words(engine.stream({ prompt: 'mn', params: { maxTokens: 1 } })).subscribe((text) => seen.push(text));
      });
    });
    // The first had finished inside the step: it hears of that, for it is out of the batch; so had the second in the next.
    expect(seen).toEqual(['queued', 'queued', 'length:d', 'length:y', 'queued', 'prefill 2/2', 'o', 'length:o']);
  });

  it('ends what waits when no step can be planned, and sleeps', async () => {
    const broken: StagedRecipe['schedule'] = () =>
      map(() => {
        throw new Error('faulty policy');
      });
    let turns = 0;
    const { engine, scheduler } = await virtualEngine(
      {},
      {
        schedule: (context) => (tick$) =>
          tick$.pipe(
            tap(() => turns++),
            broken(context),
          ),
      },
    );
    const seen: string[] = [];
    scheduler.run(() => {
      for (const [frame, prompt] of [
        [0, 'abc'],
        [0, 'm'],
        [50, 'x'],
      ] as const) {
        at(frame, words(engine.stream({ prompt })), scheduler).subscribe({
          next: (text) => seen.push(text),
          error: (error: Error) => seen.push(error.message),
        });
      }
      timer(100, scheduler).subscribe(() => seen.push(`${turns} turns`));
    });
    expect(seen).toEqual(['queued', 'queued', 'faulty policy', 'faulty policy', 'queued', 'faulty policy', '4 turns']);
    await engine.close();
  });

  it('refuses a budget that not every sequence could decode in', async () => {
    await expect(scriptedEngine({}, { maxNumSeqs: 8, maxNumBatchedTokens: 4 })).rejects.toMatchObject({
      code: 'RXLLM_OPTION_INVALID',
      param: 'maxNumBatchedTokens',
    });
  });

  it('ends a request at its deadline with what it has', async () => {
    const { engine, scheduler } = await virtualEngine({ delayMs: 4 });
    scheduler.run(({ expectObservable }) => {
      const results = (deadlineMs: number, prompt: string) =>
        engine
          .stream({ prompt, deadlineMs, params: { maxTokens: 20 } })
          .pipe(mergeMap((event) => (event.type === 'finished' ? [word(event)] : [])));
      expectObservable(results(12, 'abc')).toBe('15ms (r|)', { r: 'abort:def' });
      // Still in the queue when its time is over.
      expectObservable(results(7, 'mno')).toBe('7ms (r|)', { r: 'abort:' });
    });
  });

  it.each([0, -5, Number.NaN, Number.POSITIVE_INFINITY])('refuses a deadline of %d ms', async (deadlineMs) => {
    const { engine, runner } = await scriptedEngine();
    await expect(firstValueFrom(engine.stream({ prompt: 'abc', deadlineMs }))).rejects.toMatchObject({
      code: 'RXLLM_INVALID_REQUEST',
      param: 'deadlineMs',
    });
    expect(runner.calls).toEqual([]);
    await engine.close();
  });

  it('takes a deadline, and a pause, of months', async () => {
    const { engine, runner } = await scriptedEngine(
      {},
      { maxPauseMs: Number.MAX_SAFE_INTEGER },
      { schedule: schedule(continuousBatching()), kv: contiguousSlots() },
    );
    const demand$ = new BehaviorSubject(true);
    const events$ = engine.stream({ prompt: 'abc', params: { maxTokens: 3 }, deadlineMs: 1e10, demand$ }).pipe(
      tap((event) => {
        if (event.type === 'token' && event.text === 'd') demand$.next(false);
      }),
      toArray(),
    );
    let steps = 0;
    engine.stats$.subscribe(() => {
      steps += 1;
    });
    const events = firstValueFrom(events$);
    await engine.generate('m', 20);
    const [passes, turns] = [runner.calls.length, steps];
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    // It may have planned once more before it fell asleep.
    expect(steps).toBeLessThanOrEqual(turns + 1);
    expect(runner.calls).toHaveLength(passes);
    demand$.next(true);
    expect((await events).map(word).at(-1)).toBe('length:def');
    await engine.close();
  });

  it('refuses one request more than the queue holds, and the same id twice', async () => {
    const { engine, scheduler } = await virtualEngine();
    const codes: string[] = [];
    scheduler.run(() => {
      const error = (reason: { code: string }) => codes.push(reason.code);
      for (let i = 0; i < 9; i++) engine.stream({ prompt: 'a', params: { maxTokens: 1 } }).subscribe({ error });
      at(100, engine.stream({ id: 'x', prompt: 'a', params: { maxTokens: 9 } }), scheduler).subscribe({ error });
      at(103, engine.stream({ id: 'x', prompt: 'a' }), scheduler).subscribe({ error });
      at(200, engine.stream({ id: 'x', prompt: 'a', params: { maxTokens: 1 } }), scheduler).subscribe({ error });
    });
    expect(codes).toEqual(['RXLLM_QUEUE_FULL', 'RXLLM_INVALID_REQUEST']);
  });

  it('lets a reader take as much as it wants', async () => {
    const { engine, scheduler, runner } = await virtualEngine();
    scheduler.run(({ expectObservable }) => {
      const request = words(engine.stream({ prompt: 'abc', params: { maxTokens: 20 } })).pipe(take(4), toArray());
      expectObservable(request).toBe('--(r|)', { r: ['queued', 'prefill 3/3', 'd', 'e'] });
    });
    expect(runner.calls.length).toBe(2);
  });

  it('ends only the stream of a reader that throws', async () => {
    const { engine, scheduler } = await virtualEngine();
    const seen: string[] = [];
    scheduler.run(() => {
      engine
        .stream({ prompt: 'abc', params: { maxTokens: 9 } })
        .pipe(
          tap((event) => {
            if (event.type === 'token') throw new Error('reader');
          }),
        )
        .subscribe({ error: (error: Error) => seen.push(error.message) });
      words(engine.stream({ prompt: 'mn', params: { maxTokens: 1 } })).subscribe((text) => seen.push(text));
    });
    expect(seen).toEqual(['queued', 'reader', 'prefill 2/2', 'o', 'length:o']);
  });
});

describe('an engine as a Promise', () => {
  it('generates, and in a batch keeps the order of the prompts', async () => {
    const { engine } = await scriptedEngine();
    expect(await engine.generate('abc', 3, { maxTokens: 9 })).toMatchObject({ text: 'def', finishReason: 'length' });
    const results = await engine.generateBatch(['ab', 'mn', 'c'], 2);
    expect(results.map(({ text }) => text)).toEqual(['cd', 'op', 'de']);
    expect(await engine.generateBatch([])).toEqual([]);
    await engine.close();
  });

  it('rejects with AbortError, before and during', async () => {
    const { engine, runner } = await scriptedEngine({ delayMs: 1 });
    const gone = { signal: AbortSignal.abort() };
    await expect(engine.generate('abc', 3, {}, gone)).rejects.toMatchObject({ name: 'AbortError' });
    expect(runner.calls).toEqual([]);
    const controller = new AbortController();
    const result = engine.generate('abc', 60, {}, { signal: controller.signal });
    await firstValueFrom(engine.stats$);
    controller.abort();
    await expect(result).rejects.toMatchObject({ name: 'AbortError' });
    expect(await engine.generate('abc', 1)).toMatchObject({ text: 'd' });
    await engine.close();
  });

  it('closes after the running pass, ends what is under way with abort and refuses what comes', async () => {
    const { engine, runner } = await scriptedEngine({ delayMs: 20 });
    const requests = [engine.generate('abc', 60), engine.generate('mn', 60)];
    await firstValueFrom(engine.stats$);
    const closed = engine.close();
    expect(engine.close()).toBe(closed);
    await closed;
    const results = await Promise.all(requests);
    expect(results.map(({ finishReason }) => finishReason)).toEqual(['abort', 'abort']);
    expect(results[0]?.text).toMatch(/^de?$/);
    await expect(engine.generate('abc', 1)).rejects.toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
    await expect(firstValueFrom(runner.forward(runner.calls[0]!))).rejects.toMatchObject({
      code: 'RXLLM_RUNTIME_FAILED',
    });
  });

  it('refuses a request whose tokenizer was still at work when it closed', async () => {
    const { engine } = await scriptedEngine(
      {},
      {},
      { tokenize: (context) => (request$) => tokenize()(context)(request$.pipe(delay(5))) },
    );
    const request = engine.generate('abc', 3);
    await engine.close();
    await expect(request).rejects.toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
  });

  it('gives everything back after 1,000 requests cancelled at random moments', async () => {
    const { engine } = await scriptedEngine({ delayMs: ({ width }) => width % 2 }, { maxQueue: 1000 });
    let last: EngineStats | undefined;
    engine.stats$.subscribe((stats) => {
      last = stats;
    });
    const random = (limit: number) => Math.floor(Math.random() * limit);
    const ends = Array.from({ length: 1000 }, async () => {
      const reader = engine.stream({ prompt: 'a'.repeat(1 + random(9)), params: { maxTokens: 1 + random(9) } });
      const subscription = reader.subscribe();
      await new Promise((resolve) => setTimeout(resolve, random(400)));
      subscription.unsubscribe();
      subscription.unsubscribe();
    });
    await Promise.all(ends);
    expect(await engine.generate('abc', 2)).toMatchObject({ text: 'de' });
    expect(last).toMatchObject({ waiting: 0, running: 0, paused: 0, blocksUsed: 0 });
    await engine.close();
  });
});
