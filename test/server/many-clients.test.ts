import { tap } from 'rxjs';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createEngine, kvCache } from '../../src/engines/index.ts';
import { byteTokens } from '../support/byte-tokens.ts';
import { embeddedModel, serveEngine, serveScript, steppedBy } from '../support/real-server.ts';
import { chunksOf } from '../support/replies.ts';
import { until } from '../support/waiting.ts';

const CLIENTS = 64;
const greedy = { temperature: 0, max_tokens: 6, ignore_eos: true };
const prompts = Array.from({ length: CLIENTS }, (_, index) => [894, 670, 262, 518 + 7 * index]);

describe('64 clients at once, one request at a time', async () => {
  const engine = await createEngine(kvCache, await embeddedModel());
  const arrived: number[] = [];
  const served: number[] = [];
  const indexOf = (prompt: unknown) => prompts.findIndex((ids) => ids.join() === String(prompt));
  const server = await serveEngine({
    ...engine,
    stream: (request) =>
      engine.stream(request).pipe(
        tap(({ type }) => {
          if (type === 'queued') arrived.push(indexOf(request.prompt));
          if (type === 'finished') served.push(indexOf(request.prompt));
        }),
      ),
  });
  afterAll(server.close);
  const expected: string[] = [];
  for (const prompt of prompts) expected.push((await server.engine.generate(prompt, 6, { ignoreEos: true })).text);

  it('each gets its own text, and they are served in the order of arrival', async () => {
    const texts = await Promise.all(
      prompts.map(async (prompt, index) => {
        if (index % 3 === 0) return (await server.post('/v1/completions', { ...greedy, prompt })).body.choices[0]?.text;
        if (index % 3 === 1) {
          const chunks = chunksOf(await server.events('/v1/completions', { ...greedy, prompt }));
          return chunks.map(({ choices }) => choices[0]?.text).join('');
        }
        const socket = await server.socket();
        socket.send({ type: 'generate', id: 'x', ...greedy, prompt });
        await socket.end('x');
        await socket.close();
        return socket.text('x');
      }),
    );
    expect(texts).toEqual(expected);
    expect(new Set(texts).size).toBeGreaterThan(CLIENTS / 2);
    expect(arrived).toHaveLength(CLIENTS);
    expect(served).toEqual(arrived);
  });
});

describe('a full queue', () => {
  it('gives 429 with Retry-After, and nothing else breaks', async () => {
    const [A] = byteTokens('a');
    const { script, pass, isRunning } = steppedBy({ next: () => A! });
    const server = await serveScript(script, { options: { maxQueue: 4 } });
    onTestFinished(server.close);
    const body = { prompt: 'a', max_tokens: 1 };
    const first = server.post('/v1/completions', body);
    await until(isRunning);
    // One runs, four may wait.
    const replies = Array.from({ length: CLIENTS - 1 }, (_, index) =>
      index % 2
        ? server.post('/v1/completions', body)
        : // A stream that is served is no JSON.
          server.post('/v1/completions', { ...body, stream: true }).catch(() => undefined),
    );
    const socket = await server.socket();
    await Promise.race(replies);
    socket.send({ type: 'generate', id: 'x', ...body });
    expect(await socket.end('x')).toMatchObject({ type: 'error', code: 'RXLLM_QUEUE_FULL' });

    let settled = 0;
    const all = Promise.all(replies.map((reply) => reply.finally(() => settled++)));
    await until(() => settled === CLIENTS - 1 - 4);
    for (let i = 0; i < 5; i++) await pass();
    const refused = (await all).filter((reply) => reply?.status === 429);
    expect(refused).toHaveLength(CLIENTS - 1 - 4);
    for (const reply of refused) {
      expect(reply?.headers.get('retry-after')).toBe('1');
      expect(reply?.body.error).toMatchObject({ type: 'rate_limit_error', code: 'RXLLM_QUEUE_FULL' });
    }
    expect((await first).body.choices[0]?.text).toBe('a');
    await socket.close();

    const next = server.post('/v1/completions', body);
    await pass();
    expect((await next).status).toBe(200);
    expect(server.kv.used).toBe(0);
  });
});
