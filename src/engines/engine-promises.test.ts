import { delay, firstValueFrom } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { scriptedEngine } from '../../test/support/scripted-engine.ts';
import type { EngineStats } from '../core/contracts/index.ts';
import { tokenize } from '../operators/tokenize.ts';

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
