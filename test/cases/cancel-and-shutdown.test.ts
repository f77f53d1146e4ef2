import { afterEach, describe, expect, it } from 'vitest';
import { oneAtATime } from '../../src/core/scheduling/one-at-a-time.ts';
import { schedule } from '../../src/operators/schedule.ts';
import { byteTokens } from '../support/byte-tokens.ts';
import { allGone, expectIdle, leavingClient, type RealServer, serveScript, steppedBy } from '../support/real-server.ts';
import { chunksOf } from '../support/replies.ts';
import { turns, until } from '../support/waiting.ts';

const servers: RealServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function serve(...args: Parameters<typeof serveScript>) {
  const server = await serveScript(...args);
  servers.push(server);
  return server;
}

const [A] = byteTokens('a');
const endless = { next: () => A! };
const smallChunks = (prefillChunk: number) => schedule(oneAtATime({ prefillChunk }));

describe('10. A disconnect does not stop generation', () => {
  const body = { prompt: 'Once', max_tokens: 100 };

  it.each([true, false])('within one step nothing runs, streamed: %s', async (stream) => {
    const { script, pass, isRunning } = steppedBy(endless);
    const server = await serve(script);
    const client = leavingClient(server, '/v1/completions', { ...body, stream });
    for (let i = 0; i < 3; i++) await pass();
    await until(() => isRunning() && (!stream || client.events().length === 3));
    expect(server.kv.used).toBe(1);
    client.leave();
    await allGone(server);
    // The step that was under way when the client left is the last.
    await pass();
    await expectIdle(server);
    expect(server.runner.calls).toHaveLength(4);

    const next = server.post('/v1/completions', { ...body, max_tokens: 2 });
    await pass();
    await pass();
    expect((await next).body.choices[0]).toMatchObject({ text: 'aa', finish_reason: 'length' });
  });

  it.each(['close', 'cancel'])('a WebSocket: %s', async (how) => {
    const { script, pass, isRunning } = steppedBy(endless);
    const server = await serve(script);
    const socket = await server.socket();
    socket.send({ type: 'generate', id: 'a', ...body });
    for (let i = 0; i < 3; i++) await pass();
    await until(() => socket.text('a').length === 3 && isRunning());
    if (how === 'cancel') {
      socket.send({ type: 'cancel', id: 'a' });
      socket.send({ type: 'nothing' });
      await socket.next(({ type }) => type === 'error');
    } else {
      await socket.close();
      await allGone(server);
    }
    await pass();
    await expectIdle(server);
    expect(server.runner.calls).toHaveLength(4);
    expect(socket.text('a')).toBe('aaa');
  });

  it('a request whose body has ended is not a client that went away', async () => {
    const { script, pass } = steppedBy(endless);
    const server = await serve(script);
    const reply = server.post('/v1/completions', { ...body, max_tokens: 1 });
    await until(() => server.runner.calls.length === 1);
    await turns();
    await pass();
    expect((await reply).body.choices[0]).toMatchObject({ text: 'a' });
  });
});

describe('11. An abort during prefill is ignored', () => {
  it.each([true, false])('no further chunk runs, streamed: %s', async (stream) => {
    const { script, pass, isRunning } = steppedBy(endless);
    const server = await serve(script, { schedule: smallChunks(32) });
    const client = leavingClient(server, '/v1/completions', { prompt: Array(300).fill(A), stream });
    await pass();
    await pass();
    await until(isRunning);
    client.leave();
    await allGone(server);
    await pass();
    await expectIdle(server);
    expect(server.runner.calls.map(({ ids }) => ids[0]?.length)).toEqual([32, 32, 32]);
  });
});

describe('12. Blocks leak on abort', () => {
  it('1,000 requests aborted at random moments give everything back', async () => {
    const server = await serve(endless, { schedule: smallChunks(8), options: { maxQueue: 1000 } });
    let state = 12;
    const random = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const request = () => ({ prompt: Array(1 + random(40)).fill(A), max_tokens: 1 + random(10) });

    /** Before it is scheduled, in prefill or decode, after it has finished, twice, or by going away. */
    const overWebSocket = async (count: number) => {
      let socket = await server.socket();
      for (let i = 0; i < count; i++) {
        const id = `${i}`;
        const cancel = () => socket.send({ type: 'cancel', id });
        socket.send({ type: 'generate', id, ...request() });
        const moment = random(6);
        if (moment === 1) await socket.next((message) => message.id === id);
        if (moment === 2) await turns(random(8));
        if (moment === 3) await socket.next((message) => message.id === id && message.type === 'token');
        if (moment === 4) await socket.end(id);
        if (moment === 5) {
          socket.ws.terminate();
          socket = await server.socket();
          continue;
        }
        cancel();
        if (random(3) === 0) cancel();
      }
      await socket.close();
    };
    const overHttp = async (count: number) => {
      for (let i = 0; i < count; i++) {
        const client = leavingClient(server, '/v1/completions', { ...request(), stream: random(2) === 0 });
        await turns(random(60));
        client.leave();
      }
    };
    await Promise.all([
      ...Array.from({ length: 8 }, () => overWebSocket(100)),
      ...Array.from({ length: 8 }, () => overHttp(25)),
    ]);
    await allGone(server);
    await expectIdle(server);
    expect((await server.post('/v1/completions', { prompt: 'a', max_tokens: 3 })).body.choices[0]?.text).toBe('aaa');
  });
});

describe('13. What an abort gives', () => {
  it('unsubscribing ends silently, with no later emission', async () => {
    const { script, pass, isRunning } = steppedBy(endless);
    const server = await serve(script);
    const seen: string[] = [];
    const subscription = server.engine.stream({ prompt: 'a' }).subscribe({
      next: ({ type }) => seen.push(type),
      error: () => seen.push('error'),
      complete: () => seen.push('complete'),
    });
    await pass();
    await until(() => seen.includes('token') && isRunning());
    subscription.unsubscribe();
    await pass();
    await expectIdle(server);
    expect(seen).toEqual(['queued', 'prefill', 'token']);
  });

  it.each(['before', 'while it waits', 'while it runs'])(
    'an AbortSignal rejects with AbortError: %s',
    async (moment) => {
      const { script, pass, isRunning } = steppedBy(endless);
      const server = await serve(script);
      const other = moment === 'while it waits' ? server.engine.stream({ prompt: 'a' }).subscribe() : undefined;
      const client = new AbortController();
      if (moment === 'before') client.abort();
      const result = server.engine.generate('a', 10, {}, { signal: client.signal });
      const rejected = expect(result).rejects.toMatchObject({ name: 'AbortError' });
      if (moment === 'while it runs') await pass();
      if (moment !== 'before') await until(isRunning);
      client.abort();
      await rejected;
      other?.unsubscribe();
      if (moment !== 'before') await pass();
      await turns();
      expect(server.kv.used).toBe(0);
    },
  );

  it('an abort after the end changes nothing', async () => {
    const server = await serve(endless);
    const client = new AbortController();
    const result = await server.engine.generate('a', 2, {}, { signal: client.signal });
    client.abort();
    await turns();
    expect(result).toMatchObject({ text: 'aa', finishReason: 'length' });
  });
});

describe('14. An error after the headers', () => {
  const failing = { ...endless, fail: (index: number) => (index === 2 ? new Error('out of luck') : undefined) };
  const body = { prompt: 'a', max_tokens: 5 };
  const expectServed = async (server: RealServer) => {
    expect((await server.post('/v1/completions', body)).body.choices[0]).toMatchObject({ text: 'aaaaa' });
  };

  it('is one event, the last of its stream; the next request works', async () => {
    const server = await serve(failing);
    const events = await server.events('/v1/completions', body);
    const chunks = chunksOf(events);
    expect(chunks.map((chunk) => chunk.choices?.[0]?.text)).toEqual(['a', 'a', undefined]);
    expect(chunks.at(-1)?.error).toMatchObject({
      type: 'server_error',
      code: 'RXLLM_RUNTIME_FAILED',
      message: expect.not.stringContaining('out of luck'),
    });
    expect(events).not.toContain('[DONE]');
    await expectServed(server);
  });

  it('is a 500 where nothing was sent yet', async () => {
    const server = await serve(failing);
    const { status, body: reply } = await server.post('/v1/completions', body);
    expect(status).toBe(500);
    expect(reply.error.code).toBe('RXLLM_RUNTIME_FAILED');
    await expectServed(server);
  });

  it('is an error message on a WebSocket, whose next stream works', async () => {
    const server = await serve(failing);
    const socket = await server.socket();
    socket.send({ type: 'generate', id: 'a', ...body });
    expect(await socket.end('a')).toMatchObject({ type: 'error', code: 'RXLLM_RUNTIME_FAILED' });
    socket.send({ type: 'generate', id: 'b', ...body });
    expect(await socket.end('b')).toMatchObject({ type: 'finished', finish_reason: 'length' });
    await socket.close();
  });
});
