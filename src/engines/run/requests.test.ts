import { BehaviorSubject, firstValueFrom, mergeMap, tap, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { scriptedEngine } from '../../../test/support/scripted-engine.ts';
import { at, virtualEngine, word } from '../../../test/support/virtual-engine.ts';
import { contiguousSlots } from '../../core/memory/contiguous-slots.ts';
import { continuousBatching } from '../../core/scheduling/continuous-batching.ts';
import { schedule } from '../../operators/schedule.ts';

describe('a deadline', () => {
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
});

describe('the queue', () => {
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
});
