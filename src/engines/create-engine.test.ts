import {
  BehaviorSubject,
  concatMap,
  EMPTY,
  firstValueFrom,
  ignoreElements,
  map,
  mergeMap,
  of,
  repeat,
  take,
  tap,
  timer,
  toArray,
} from 'rxjs';
import { describe, expect, it } from 'vitest';
import { scriptedEngine } from '../../test/support/scripted-engine.ts';
import { letters } from '../../test/support/toy-model.ts';
import { at, virtualEngine, word, words } from '../../test/support/virtual-engine.ts';
import type { Computed, EngineStats, StagedRecipe } from '../core/contracts/index.ts';
import { contiguousSlots } from '../core/memory/contiguous-slots.ts';
import { continuousBatching } from '../core/scheduling/continuous-batching.ts';
import { oneAtATime } from '../core/scheduling/one-at-a-time.ts';
import { decodeStep } from '../operators/decode-step.ts';
import { schedule } from '../operators/schedule.ts';

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

  it('refuses a request of which its tokenizer makes nothing', async () => {
    const { engine } = await scriptedEngine({}, {}, { tokenize: () => ignoreElements() });
    await expect(engine.generate('abc', 1)).rejects.toMatchObject({ code: 'RXLLM_RECIPE_INVALID' });
    await engine.close();
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

  it('takes an id again as soon as its request has ended, and while one that was cancelled still runs', async () => {
    const { engine, scheduler } = await virtualEngine({
      fail: (call) => (call === 3 ? new Error('no memory') : undefined),
    });
    const seen: string[] = [];
    scheduler.run(() => {
      const request = engine.stream({ id: 'x', prompt: 'abc', params: { maxTokens: 2 } });
      const ask = (then: () => void, isCancelled = false) => {
        const subscription = request.subscribe({
          next: (event) => {
            if (event.type === 'token' || event.type === 'finished') seen.push(word(event));
            if (!isCancelled || event.type !== 'token') return;
            subscription.unsubscribe();
            then();
          },
          error: ({ code }: { code: string }) => {
            seen.push(code);
            then();
          },
          complete: then,
        });
      };
      // Whole, cancelled at its first token, failed in its first pass, whole.
      ask(() => ask(() => ask(() => ask(() => seen.push('end'))), true));
    });
    expect(seen).toEqual(['d', 'e', 'length:de', 'd', 'RXLLM_RUNTIME_FAILED', 'd', 'e', 'length:de', 'end']);
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
