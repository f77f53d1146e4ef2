import { firstValueFrom, map, type Observable, of, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { virtualOptions } from '../../../test/support/context.ts';
import { testScheduler } from '../../../test/support/marbles.ts';
import { alphabet } from '../../../test/support/scripted-engine.ts';
import { letters, toyModel } from '../../../test/support/toy-model.ts';
import type { EngineStats, OpaqueRecipe, TokenEvent } from '../../core/contracts/index.ts';
import { type Script, scriptedRuntime } from '../../core/runtime/scripted-runner.ts';
import { baseline } from '../baseline.ts';
import { createEngine } from '../create-engine.ts';

function scripted(script: Partial<Script> = {}) {
  const runtime = scriptedRuntime({ next: alphabet, ...script });
  const recipe: OpaqueRecipe = {
    ...baseline,
    model: (_, layout) => ({ layout, weightsDirectory: '', author: () => new Uint8Array() }),
    runtime,
  };
  return { recipe, runner: () => runtime.runners[0]! };
}

/** The engine in virtual time: each token takes a frame between steps. */
async function virtual(script: Partial<Script> = {}) {
  const scheduler = testScheduler();
  const { recipe, runner } = scripted({ clock: scheduler, ...script });
  const engine = await createEngine(recipe, toyModel, virtualOptions(scheduler));
  return { engine, scheduler, runner: runner() };
}

const word = (event: TokenEvent): string =>
  event.type === 'finished' ? `${event.result.finishReason}:${event.result.text}` : event.type;
const words = (source: Observable<TokenEvent>) => source.pipe(map(word));

describe('an engine that is one box', () => {
  it('tells nothing but that a request is queued and what came of it', async () => {
    const { engine, scheduler, runner } = await virtual({ delayMs: 4 });
    scheduler.run(({ expectObservable }) => {
      expectObservable(engine.stream({ prompt: 'abc', params: { maxTokens: 3 } })).toBe('q 14ms (r|)', {
        q: { type: 'queued', position: 0 },
        r: {
          type: 'finished',
          result: {
            text: 'def',
            outputIds: letters('def'),
            finishReason: 'length',
            metrics: { throughput: 3000 / 14, inputTokens: 3, outputTokens: 3, ttftMs: 0, tpotMs: 0 },
          },
        },
      });
    });
    expect(runner.calls.map(({ ids, positions }) => [ids[0], positions[0]])).toEqual([
      [letters('abc'), 0],
      [letters('abcd'), 0],
      [letters('abcde'), 0],
    ]);
  });

  it('takes requests one at a time, in order, up to the bound of its queue', async () => {
    const { engine, scheduler } = await virtual();
    const seen: string[] = [];
    scheduler.run(() => {
      for (let i = 0; i < 9; i++) {
        words(engine.stream({ prompt: 'a', params: { maxTokens: 2 } })).subscribe({
          next: (text) => seen.push(`${i}@${scheduler.now()} ${text}`),
          error: ({ code }: { code: string }) => seen.push(`${i} ${code}`),
        });
      }
    });
    expect(seen.slice(0, 9)).toEqual([...Array.from({ length: 8 }, (_, i) => `${i}@0 queued`), '8 RXLLM_QUEUE_FULL']);
    expect(seen.slice(9, 11)).toEqual(['0@2 length:bc', '1@4 length:bc']);
    expect(seen.length).toBe(17);
  });

  it.each([
    ['while it waits', 1, 2],
    ['during a forward pass', 0, 12],
  ])('forgets a request cancelled %s', async (_, index, frame) => {
    const { engine, scheduler, runner } = await virtual({ delayMs: 5 });
    const seen: string[] = [];
    const stats: EngineStats[] = [];
    engine.stats$.subscribe((value) => stats.push(value));
    scheduler.run(() => {
      const requests = ['abc', 'mno'].map((prompt) =>
        words(engine.stream({ prompt, params: { maxTokens: 4 } })).subscribe((text) => seen.push(text)),
      );
      timer(frame, scheduler).subscribe(() => requests[index]!.unsubscribe());
    });
    expect(seen).toEqual(['queued', 'queued', index === 0 ? 'length:pqrs' : 'length:defg']);
    expect(stats.at(-1)).toMatchObject({ waiting: 0, running: 0 });
    expect(runner.calls.length).toBe(index === 0 ? 4 + 2 : 4);
  });

  it('ends a request at its deadline, with nothing to show for it', async () => {
    const { engine, scheduler } = await virtual({ delayMs: 4 });
    scheduler.run(({ expectObservable }) => {
      const request = (deadlineMs: number, prompt: string) =>
        words(engine.stream({ prompt, deadlineMs, params: { maxTokens: 3 } }));
      expectObservable(request(12, 'abc')).toBe('q 11ms (a|)', { q: 'queued', a: 'abort:' });
      expectObservable(request(60, 'mno')).toBe('q 28ms (r|)', { q: 'queued', r: 'length:pqr' });
    });
  });

  it('obeys stop strings, end tokens and the end of the context', async () => {
    const { recipe } = scripted();
    const engine = await createEngine(recipe, toyModel);
    expect(await engine.generate('abc', 20, { stop: ['gh'] })).toMatchObject({ text: 'def', finishReason: 'stop' });
    expect(await engine.generate('abc', 20, { stopTokenIds: letters('f') })).toMatchObject({ text: 'de' });
    expect((await engine.generate('a'.repeat(60), 20)).outputIds.length).toBe(4);
    await engine.close();
  });

  it('ends a request with its error, and serves the next', async () => {
    const { recipe } = scripted({ fail: (call) => (call === 1 ? new Error('no memory') : undefined) });
    const engine = await createEngine(recipe, toyModel);
    const codes = await Promise.allSettled([
      engine.generate('abc', 3),
      engine.generate('a'.repeat(64), 3),
      engine.generate('abc', 3, { logprobs: 2 }),
      engine.generate('mn', 2),
    ]);
    expect(codes.map((one) => (one.status === 'fulfilled' ? one.value.text : one.reason.code))).toEqual([
      'RXLLM_RUNTIME_FAILED',
      'RXLLM_CONTEXT_LENGTH_EXCEEDED',
      'RXLLM_INVALID_REQUEST',
      'op',
    ]);
    await engine.close();
  });

  it('closes after the running pass, ends what is under way with abort and refuses what comes', async () => {
    const { recipe } = scripted({ delayMs: 10 });
    const engine = await createEngine(recipe, toyModel);
    const results = [engine.generate('abc', 60), engine.generate('mn', 60)];
    await firstValueFrom(engine.stats$);
    await engine.close();
    expect((await Promise.all(results)).map(({ finishReason }) => finishReason)).toEqual(['abort', 'abort']);
    await expect(engine.generate('abc', 1)).rejects.toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
  });

  it('keeps its queue off the stack', async () => {
    const { recipe } = scripted();
    const engine = await createEngine(recipe, toyModel, { maxQueue: 5000, betweenSteps: () => of(undefined) });
    const results = await engine.generateBatch(Array(100).fill('abc'), 1);
    expect(results.every(({ text }) => text === 'd')).toBe(true);
    await engine.close();
  });
});
