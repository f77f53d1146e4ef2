import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { BehaviorSubject, filter, first, firstValueFrom } from 'rxjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { fakeEngine, type Step, say } from '../../test/support/fake-engine.ts';
import { TestSocket } from '../../test/support/socket.ts';
import type { Engine, GenerateRequest } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { buildServer, type ServerOptions } from './server.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(script: (request: GenerateRequest) => Iterable<Step>, options?: ServerOptions) {
  const engine = fakeEngine(script);
  return { engine, ...(await listen(engine, options)) };
}

async function listen(engine: Engine | undefined, options?: ServerOptions) {
  const app = buildServer({ engine: () => engine }, options);
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  closing.push(() => app.close());
  const open = (headers?: Record<string, string>) => {
    const socket = new TestSocket(address, headers);
    closing.push(() => socket.ws.terminate());
    return socket.opened();
  };
  return { app, address, open };
}

const generate = (id: string, fields: object = {}) => ({ type: 'generate', id, prompt: 'hi', ...fields });
const hang = (): Step[] => [...say(['a']).slice(0, 3), { type: 'hang' }];
const token = (id: string) => (message: { type: string; id?: string }) => message.type === 'token' && message.id === id;

describe('a stream', () => {
  it('is told as queued, token, finished', async () => {
    const { open, engine } = await serve(() => say(['Hel', 'lo'], { reason: 'length' }));
    const socket = await open();
    socket.send(generate('x', { max_tokens: 3, temperature: 0, stop: null }));
    await socket.end('x');
    expect(socket.received).toEqual([
      { type: 'queued', id: 'x', position: 0 },
      { type: 'token', id: 'x', text: 'Hel', token_id: 72 },
      { type: 'token', id: 'x', text: 'lo', token_id: 108 },
      {
        type: 'finished',
        id: 'x',
        finish_reason: 'length',
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, prompt_tokens_details: { cached_tokens: 0 } },
        metrics: { throughput: 12.3, input_tokens: 3, output_tokens: 2, ttft_ms: 5.13 },
      },
    ]);
    expect(engine.requests[0]).toMatchObject({ prompt: 'hi', params: { maxTokens: 3, temperature: 0 } });
  });

  it('takes messages, token ids, and logprobs as over HTTP', async () => {
    const logprobs = [{ id: 72, logprob: -0.5, top: [{ id: 72, logprob: Number.NEGATIVE_INFINITY }] }];
    const { open, engine } = await serve(() => say(['H'], { logprobs }));
    const socket = await open();
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }];
    socket.send({ type: 'generate', id: 'chat', messages, logprobs: true, top_logprobs: 1 });
    socket.send(generate('ids', { prompt: [1, 2], logprobs: 3 }));
    await socket.end('ids');
    expect(engine.requests.map(({ prompt }) => prompt)).toEqual([[{ role: 'user', content: 'hi' }], [1, 2]]);
    expect(engine.requests.map(({ params }) => params?.logprobs)).toEqual([1, 3]);
    expect(socket.of('chat').find(({ type }) => type === 'token')?.logprobs).toEqual({
      token: 'H',
      logprob: -0.5,
      bytes: [72],
      top_logprobs: [{ token: 'H', logprob: -9999, bytes: [72] }],
    });
  });

  it('has all its text in one message where the engine gives no tokens', async () => {
    const { open } = await serve(() => say(['Hel', 'lo']).filter(({ type }) => type !== 'token'));
    const socket = await open();
    socket.send(generate('x'));
    await socket.end('x');
    expect(socket.received.map(({ type }) => type)).toEqual(['queued', 'token', 'finished']);
    expect(socket.received[1]).toEqual({ type: 'token', id: 'x', text: 'Hello', token_id: null });
  });

  it('runs beside others on its socket, and gives its id back when it ends', async () => {
    const { open } = await serve(({ prompt }) => [...say([`${prompt}1`]).slice(0, 3), ...say([`${prompt}2`]).slice(2)]);
    const socket = await open();
    for (const id of ['a', 'b', 'c']) socket.send(generate(id, { prompt: id }));
    await Promise.all(['a', 'b', 'c'].map((id) => socket.end(id)));
    expect(['a', 'b', 'c'].map((id) => socket.text(id))).toEqual(['a1a2', 'b1b2', 'c1c2']);
    socket.send(generate('a', { prompt: 'again' }));
    await vi.waitFor(() => expect(socket.text('a')).toBe('a1a2again1again2'));
  });

  it('is cancelled by id, silently, and others go on', async () => {
    const { open, engine } = await serve(hang);
    const socket = await open();
    socket.send(generate('a'));
    socket.send(generate('b'));
    await socket.next(token('b'));
    socket.send({ type: 'cancel', id: 'a' });
    socket.send({ type: 'cancel', id: 'a' });
    socket.send({ type: 'cancel', id: 'never' });
    await vi.waitFor(() => expect(engine).toMatchObject({ cancelled: 1, active: 1 }));
    socket.send(generate('a'));
    await vi.waitFor(() =>
      expect(socket.of('a').map(({ type }) => type)).toEqual(['queued', 'token', 'queued', 'token']),
    );
    await socket.close();
    await vi.waitFor(() => expect(engine).toMatchObject({ cancelled: 3, active: 0 }));
  });

  it('ends with the error of its engine, and the next is served', async () => {
    const failure = new RxllmError('RXLLM_CONTEXT_LENGTH_EXCEEDED', 'prompt: too long', { param: 'prompt' });
    const { open } = await serve(({ params }) =>
      params?.seed === 1
        ? [{ type: 'fail', error: params.maxTokens === 1 ? failure : new Error('/secret') }]
        : say(['ok']),
    );
    const socket = await open();
    socket.send({ type: 'generate', id: 'a', messages: [{ role: 'user', content: 'hi' }], seed: 1, max_tokens: 1 });
    socket.send(generate('b', { seed: 1 }));
    socket.send(generate('c'));
    await socket.end('c');
    const code = 'RXLLM_CONTEXT_LENGTH_EXCEEDED';
    expect(socket.of('a')).toEqual([
      { type: 'error', id: 'a', code, message: 'messages: too long', param: 'messages' },
    ]);
    const message = expect.stringMatching(/^The server failed while handling this request; /);
    expect(socket.of('b')).toEqual([{ type: 'error', id: 'b', code: 'internal_error', message }]);
    expect(socket.text('c')).toBe('ok');
  });

  it('is refused under an id that is under way, which goes on', async () => {
    const { open, engine } = await serve(hang);
    const socket = await open();
    socket.send(generate('a'));
    await socket.next(token('a'));
    socket.send(generate('a'));
    expect(await socket.next(({ type }) => type === 'error')).toMatchObject({
      id: 'a',
      code: 'RXLLM_INVALID_REQUEST',
      param: 'id',
    });
    expect(engine).toMatchObject({ active: 1, cancelled: 0 });
  });

  it('is refused past the limit of its socket', async () => {
    const { open, engine } = await serve(hang, { webSocket: { maxStreams: 2 } });
    const socket = await open();
    for (const id of ['a', 'b', 'c']) socket.send(generate(id));
    expect(await socket.end('c')).toMatchObject({ type: 'error', code: 'too_many_streams' });
    expect(engine.active).toBe(2);
  });

  it('waits with an error while the model is loading', async () => {
    const { open } = await listen(undefined);
    const socket = await open();
    socket.send(generate('a'));
    expect(await socket.end('a')).toMatchObject({ type: 'error', code: 'engine_loading' });
  });
});

describe('a connection', () => {
  it('reads what comes in one packet with the handshake', async () => {
    const { address, engine } = await serve(() => say(['ok']));
    const { hostname, port } = new URL(address);
    const socket = connect(Number(port), hostname);
    closing.push(() => socket.destroy());
    const handshake = [
      'GET /v1/stream HTTP/1.1',
      `Host: ${hostname}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
      '\r\n',
    ].join('\r\n');
    const payload = Buffer.from(JSON.stringify(generate('first')));
    // A mask of zeros leaves the payload as it is.
    const frame = Buffer.concat([Buffer.from([0x81, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
    socket.write(Buffer.concat([Buffer.from(handshake), frame]));
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    await vi.waitFor(() => expect(received).toContain('"type":"finished"'));
    expect(received).toContain('"text":"ok"');
    expect(engine.requests).toHaveLength(1);
  });

  it('needs the API key', async () => {
    const { open } = await serve(() => say(['ok']), { apiKeys: ['secret'] });
    await expect(open()).rejects.toThrow('401');
    const socket = await open({ authorization: 'Bearer secret' });
    socket.send(generate('a'));
    await socket.end('a');
    expect(socket.text('a')).toBe('ok');
  });

  it('takes the API key as a subprotocol, from a page that cannot set headers', async () => {
    const { address } = await serve(() => say(['ok']), { apiKeys: ['secret key'] });
    const connect = (...protocols: string[]) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(`${address.replace('http', 'ws')}/v1/stream`, protocols);
        socket.once('open', () => resolve(socket.protocol)).once('error', ({ message }) => resolve(message));
      });
    const encoded = Buffer.from('secret key').toString('base64url');
    expect(await connect('rxllm', `rxllm.bearer.${encoded}`)).toBe('rxllm');
    for (const protocols of [['rxllm'], ['rxllm', encoded], ['rxllm', 'rxllm.bearer.AAAA']]) {
      expect(await connect(...protocols)).toContain('401');
    }
    const plain = await fetch(`${address}/v1/models`, {
      headers: { 'sec-websocket-protocol': `rxllm.bearer.${encoded}` },
    });
    expect(plain.status).toBe(401);
  });

  it('is refused with an HTTP error elsewhere, and plain HTTP is refused here', async () => {
    const { address } = await serve(() => say(['ok']));
    const unknown = new WebSocket(`${address.replace('http', 'ws')}/v1/other`);
    await expect(new Promise((_, reject) => unknown.once('error', reject))).rejects.toThrow('404');
    const plain = await fetch(`${address}/v1/stream`);
    expect(plain.status).toBe(426);
    expect(await plain.json()).toMatchObject({ error: { code: 'upgrade_required' } });
  });

  it('is closed when its frame is beyond all limits, and the server goes on', async () => {
    const { open } = await serve(() => say(['ok']));
    const socket = await open();
    socket.send(Buffer.alloc(17 * 1024 ** 2));
    expect(await socket.closed).toBe(1009);
    const other = await open();
    other.send(generate('a'));
    await other.end('a');
  });

  it('is ended when its peer no longer answers', async () => {
    const { open, engine } = await serve(hang, { webSocket: { heartbeatMs: 200 } });
    const alive = await open();
    const dead = await open();
    alive.send(generate('a'));
    dead.send(generate('a'));
    await dead.next(token('a'));
    dead.ws.pause();
    await vi.waitFor(() => expect(engine).toMatchObject({ active: 1, cancelled: 1 }), 5000);
    expect(alive.ws.readyState).toBe(WebSocket.OPEN);
  });
});

describe('a client that reads slowly', () => {
  it('holds the engine back, which goes on when it reads', async () => {
    const text = 'x'.repeat(100_000);
    const { open, engine } = await serve(() => say(Array.from({ length: 300 }, () => text)));
    const socket = await open();
    socket.ws.pause();
    socket.send(generate('a'));
    // 30 MB are more than what sockets themselves hold.
    await vi.waitFor(() => expect(engine.active).toBe(1));
    let before = -1;
    await vi.waitFor(
      () => {
        const { tokens } = engine;
        const still = tokens > 0 && tokens === before;
        before = tokens;
        expect(still).toBe(true);
      },
      { interval: 100 },
    );
    expect(before).toBeLessThan(300);
    socket.ws.resume();
    await socket.end('a');
    expect(socket.text('a')).toHaveLength(300 * text.length);
  });

  it('is disconnected when an engine cannot be held back', async () => {
    const text = 'x'.repeat(1_000_000);
    const tokens = say(Array.from({ length: 60 }, () => text));
    const { engine } = await serve(() => tokens.flatMap((token) => [token, { type: 'wait', ms: 0 }]));
    // Deaf to demand, as an engine may be.
    const deaf: Engine = { ...engine, stream: ({ demand$: _, ...request }) => engine.stream(request) };
    const { open } = await listen(deaf);
    const socket = await open();
    socket.ws.pause();
    socket.send(generate('a'));
    await vi.waitFor(() => expect(engine).toMatchObject({ active: 0, cancelled: 1 }), 5000);
    expect(engine.tokens).toBeLessThan(60);
  });
});

describe('draining', () => {
  it('closes idle sockets at once, and others when their last stream has ended', async () => {
    const go$ = new BehaviorSubject(false);
    const { engine } = await serve(() => say(['a', 'b']));
    const slow: Engine = {
      ...engine,
      stream: (request) => engine.stream({ ...request, demand$: go$ }),
    };
    const { app, open } = await listen(slow);
    const [idle, busy] = await Promise.all([open(), open()]);
    busy.send(generate('a'));
    await vi.waitFor(() => expect(engine.active).toBe(1));
    const drained = app.drain(60_000);
    expect(await idle.closed).toBe(1001);
    busy.send(generate('b'));
    expect(await busy.end('b')).toMatchObject({ type: 'error', code: 'RXLLM_ENGINE_CLOSED' });
    await expect(open()).rejects.toThrow('503');
    go$.next(true);
    expect(await busy.end('a')).toMatchObject({ type: 'finished', finish_reason: 'stop' });
    expect(await busy.closed).toBe(1001);
    await drained;
  });

  it('lets the server close though a peer does not answer, or never closed a refused upgrade', async () => {
    const { app, address, open } = await serve(hang);
    const deaf = await open();
    deaf.ws.pause();
    const { hostname, port } = new URL(address);
    const refused = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    refused.write('GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const answered$ = new BehaviorSubject('');
    refused.on('data', (data) => answered$.next(answered$.value + data)).on('error', () => {});
    await firstValueFrom(
      answered$.pipe(
        filter((text) => text.includes('404')),
        first(),
      ),
    );
    await app.close();
  });
});

describe('a page of another host', () => {
  it.each([
    ['https://elsewhere.example', false],
    ['http://127.0.0.1:1', false],
    ['null', false],
    ['same', true],
    [undefined, true],
  ])('%s: %s', async (origin, allowed) => {
    const { open, address } = await serve(() => say(['ok']));
    const socket = open(origin === undefined ? {} : { origin: origin === 'same' ? address : origin });
    if (!allowed) return expect(socket).rejects.toThrow('Unexpected server response: 403');
    (await socket).send(generate('x'));
    expect(await (await socket).end('x')).toMatchObject({ type: 'finished' });
  });

  it('may connect with the API key', async () => {
    const { open } = await serve(() => say(['ok']), { apiKeys: ['secret'] });
    await open({ origin: 'https://elsewhere.example', authorization: 'Bearer secret' });
  });
});
