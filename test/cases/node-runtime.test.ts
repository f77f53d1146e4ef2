import { lastValueFrom, tap } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { median } from '../../src/bench/stats.ts';
import type { TokenEvent } from '../../src/core/contracts/index.ts';
import { ortCApi } from '../../src/core/runtime/ort-c-api.ts';
import { oneAtATime } from '../../src/core/scheduling/one-at-a-time.ts';
import { schedule } from '../../src/operators/schedule.ts';
import { byteTokens } from '../support/byte-tokens.ts';
import { heldMemory } from '../support/memory.ts';
import { serveEmbedded, serveScript, steppedBy } from '../support/real-server.ts';
import { eventually, turns, until } from '../support/waiting.ts';

const greedy = { temperature: 0, ignore_eos: true };
const [A] = byteTokens('a');

describe('15. The event loop is blocked', () => {
  it('/health answers while one long forward pass runs', async () => {
    const server = await serveEmbedded({}, { schedule: schedule(oneAtATime({ prefillChunk: 2048 })) });
    onTestFinished(server.close);
    let running = true;
    const reply = server
      .post('/v1/completions', { ...greedy, prompt: Array(2000).fill(A), max_tokens: 1 })
      .finally(() => {
        running = false;
      });
    let answered = 0;
    while (running) {
      expect((await fetch(`${server.address}/health`)).status).toBe(200);
      if (running) answered += 1;
    }
    expect((await reply).body.usage).toMatchObject({ prompt_tokens: 2000, completion_tokens: 1 });
    // A loop that stands still for the pass would answer once or twice, before and after it.
    expect(answered).toBeGreaterThan(5);
  });
});

describe('16. Sessions and tensors are not freed', () => {
  it('500 generations, 100 of which throw in their consumer', async () => {
    const { live } = ortCApi();
    const before = { ...live };
    const server = await serveEmbedded();
    const { engine } = server;
    const held: number[] = [];
    for (let i = 0; i < 500; i++) {
      const request = { prompt: [894, 670, 262 + (i % 50)], params: { maxTokens: 1 + (i % 4), ignoreEos: true } };
      if (i % 5 > 0) await lastValueFrom(engine.stream(request));
      else {
        const consumer = tap<TokenEvent>(({ type }) => {
          if (type === 'token') throw new Error('the consumer failed');
        });
        await expect(lastValueFrom(engine.stream(request).pipe(consumer))).rejects.toThrow('the consumer failed');
      }
      if (i % 10 === 9) held.push(heldMemory());
    }
    await eventually(() => expect(server.stats()).toMatchObject({ running: 0, waiting: 0, blocksUsed: 0 }));
    const half = held.length / 2;
    expect(median(held.slice(-5))).toBeLessThan(median(held.slice(half, half + 5)) * 1.05);
    expect(live.tensors).toBeGreaterThan(before.tensors);
    await server.close();
    expect(live).toEqual(before);
  });
});

describe('17. Dispose races running work', () => {
  it('closing an engine during a step waits for that step', async () => {
    const { script, pass, isRunning } = steppedBy({ next: () => A! });
    const server = await serveScript(script);
    onTestFinished(server.close);
    const { engine } = server;
    const result = engine.generate('a', 10);
    await pass();
    await until(isRunning);
    let closed = false;
    const closing = engine.close().then(() => {
      closed = true;
    });
    await turns();
    expect(closed).toBe(false);
    await pass();
    await closing;
    expect(await result).toMatchObject({ finishReason: 'abort', text: 'aa' });
    await expect(engine.generate('a')).rejects.toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
  });

  it('also when the step is a real forward pass', async () => {
    const { live } = ortCApi();
    const before = { ...live };
    const server = await serveEmbedded();
    const result = server.post('/v1/completions', { ...greedy, prompt: Array(1500).fill(A), max_tokens: 5 });
    await until(() => server.stats() !== undefined);
    await Promise.all([server.engine.close(), server.engine.close()]);
    expect(live).toEqual(before);
    expect((await result).body.choices[0]).toMatchObject({ finish_reason: 'abort' });
    await server.close();
  });

  it('a prompt longer than the context gives 400, and two calls at once are both served', async () => {
    const server = await serveEmbedded();
    onTestFinished(server.close);
    const { status, body } = await server.post('/v1/completions', { prompt: Array(2048).fill(A) });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 'RXLLM_CONTEXT_LENGTH_EXCEEDED', param: 'prompt' });
    const ask = async (prompt: string) =>
      (await server.post('/v1/completions', { ...greedy, prompt, max_tokens: 8 })).body.choices[0]?.text;
    const prompts = ['Once upon a time', 'The fox'];
    const alone = [await ask(prompts[0]!), await ask(prompts[1]!)];
    expect(await Promise.all(prompts.map(ask))).toEqual(alone);
  });
});
