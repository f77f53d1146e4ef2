import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { fakeEngine, type Step, say } from '../../test/support/fake-engine.ts';
import { eventually } from '../../test/support/waiting.ts';
import { buildServer, type ServerOptions } from './server.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(script: () => Iterable<Step>, options?: ServerOptions) {
  const engine = fakeEngine(script);
  const app = buildServer({ engine: () => engine }, options);
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  closing.push(() => app.close());
  const connection = () => {
    const socket = connect(Number(port), '127.0.0.1');
    closing.push(() => socket.destroy());
    return socket;
  };
  return { engine, app, connection };
}

function post(fields: object = {}, headers = ''): string {
  const body = JSON.stringify({ prompt: 'hi', ...fields });
  const length = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
  return `POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n${headers}${length}\r\n\r\n${body}`;
}

/** All that comes until `mark` has come. */
async function readUntil(socket: Socket, mark: string): Promise<string> {
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.includes(mark)) break;
  }
  return text;
}

describe('pipelined requests', () => {
  it('are cancelled with their connection, those too whose reply has not begun', async () => {
    const { engine, app, connection } = await serve(() => [{ type: 'hang' }]);
    const socket = connection();
    socket.write(post() + post({ stream: true }) + post());
    await eventually(() => expect(engine.active).toBe(3));
    socket.destroy();
    await eventually(() => expect(engine.cancelled).toBe(3));
    // Nothing is under way any more, else this would wait for the hour.
    await app.drain(3_600_000);
  });

  it('put one listener on their socket, and take it away', async () => {
    const { engine, app, connection } = await serve(() => [{ type: 'wait', ms: 20 }, ...say(['ok'])]);
    const accepted = new Promise<Socket>((resolve) => app.server.once('connection', resolve));
    const socket = connection();
    const listeners = async () => (await accepted).listenerCount('close');
    const before = await listeners();
    socket.write(post().repeat(4));
    await eventually(() => expect(engine.requests).toHaveLength(4));
    expect(await listeners()).toBeLessThanOrEqual(before + 2);
    socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await readUntil(socket, '"status":"ok"');
    await eventually(async () => expect(await listeners()).toBe(before));
  });
});

describe('an upgrade that is no WebSocket', () => {
  const h2c = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n';

  it('is ignored: the request is answered over HTTP/1.1, and the connection goes on', async () => {
    const { connection, engine } = await serve(() => say(['ok']));
    const socket = connection();
    socket.write(`GET /health HTTP/1.1\r\nHost: localhost\r\n${h2c}\r\n`);
    expect(await readUntil(socket, '"status":"ok"')).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    const request = post({ prompt: 'a long one' }, h2c);
    // The body comes in two parts, the second after the upgrade was ignored.
    socket.write(request.slice(0, -9));
    await new Promise((resolve) => setTimeout(resolve, 30));
    socket.write(request.slice(-9));
    expect(await readUntil(socket, '"object":"text_completion"')).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(engine.requests.map(({ prompt }) => prompt)).toEqual(['a long one']);
  });

  it('waits for the replies in front of it', async () => {
    const { app, connection, engine } = await serve(() => [{ type: 'wait', ms: 30 }, ...say(['ok'])]);
    const upgraded = new Promise((resolve) => app.server.once('upgrade', resolve));
    const socket = connection();
    const ignored = post({ n: 2 }, h2c);
    socket.write(post() + ignored.slice(0, -9));
    await upgraded;
    socket.write(`${ignored.slice(-9)}${ignored}GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const replies = await readUntil(socket, '"status":"ok"');
    expect(replies.match(/"object":"text_completion"/g)).toHaveLength(3);
    expect(engine.requests).toHaveLength(5);
  });
});

describe('a WebSocket', () => {
  const upgrade = 'Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';

  it.each([
    ['is opened', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n', '101 Switching Protocols'],
    ['is refused', '', '400 Bad Request'],
  ])('that comes behind another request %s after its reply', async (_name, key, status) => {
    const { connection } = await serve(() => [{ type: 'wait', ms: 30 }, ...say(['ok'])]);
    const socket = connection();
    socket.write(`${post()}GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n${upgrade}${key}\r\n`);
    const replies = await readUntil(socket, status);
    expect(replies).toMatch(new RegExp(`^HTTP/1.1 200 OK\r\n[^]*"object":"text_completion"[^]*HTTP/1.1 ${status}`));
  });

  const open = `GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n${upgrade}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;

  it.each([
    ['goes away', (socket: Socket) => socket.destroy()],
    ['says that it sends no more', (socket: Socket) => socket.end()],
    ['sent more, and goes away', (socket: Socket) => socket.end('x'.repeat(1000))],
  ])('behind another request is forgotten, and that one cancelled, when its client %s', async (_name, leave) => {
    const { app, connection, engine } = await serve(() => [{ type: 'hang' }]);
    const upgraded = new Promise((resolve) => app.server.once('upgrade', resolve));
    const socket = connection();
    socket.write(post() + open);
    await upgraded;
    await eventually(() => expect(engine.active).toBe(1));
    leave(socket);
    await eventually(() => expect(engine.cancelled).toBe(1));
  });

  it('behind a streamed reply does not stop it when its client reads slowly', async () => {
    const pieces = Array.from({ length: 200 }, () => 'x'.repeat(64 * 1024));
    const { connection } = await serve(() => say(pieces));
    const socket = connection();
    socket.pause();
    socket.write(post({ stream: true }) + open);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await readUntil(socket, '101 Switching Protocols')).toContain('data: [DONE]');
  });

  it('behind another request is sent on with all that came behind it', async () => {
    const { app, connection } = await serve(() => [{ type: 'wait', ms: 50 }, ...say(['ok'])]);
    const upgraded = new Promise((resolve) => app.server.once('upgrade', resolve));
    const socket = connection();
    socket.write(post() + open);
    await upgraded;
    // Larger than what is read ahead.
    const message = Buffer.from(JSON.stringify({ type: 'generate', id: 'a', prompt: 'hi' }).padStart(200_000));
    // A mask of zeros leaves it as it is.
    const head = Buffer.alloc(14);
    head.writeUInt16BE(0x81ff);
    head.writeBigUInt64BE(BigInt(message.length), 2);
    socket.write(Buffer.concat([head, message]));
    expect(await readUntil(socket, '"type":"finished"')).toMatch(/101 Switching Protocols[\s\S]*"text":"ok"/);
  });

  it.each(['/v1/%zz', '/%', '/%c0%af', `/v1/models/${'x'.repeat(101)}`])(
    'with a bad URL (%s) is refused, and its connection closed',
    async (url) => {
      const { app, connection } = await serve(() => say(['ok']), { limits: { maxConnections: 1 } });
      const accepted = new Promise<Socket>((resolve) => app.server.once('connection', resolve));
      const socket = connection();
      socket.write(open.replace('/v1/stream', url));
      const closed = new Promise((resolve) => accepted.then((server) => server.once('close', resolve)));
      const reply = await text(socket);
      expect(reply).toMatch(/^HTTP\/1.1 4[01][04] [\s\S]*\r\nconnection: close\r\n/);
      expect(errorIn(reply)).toMatchObject({ type: 'invalid_request_error', code: expect.stringMatching(/^FST_ERR/) });
      await closed;
    },
  );

  it('that expects something unknown is told that its connection is closed', async () => {
    const { connection } = await serve(() => say(['ok']));
    const socket = connection();
    socket.write(open.replace(upgrade, `${upgrade}Expect: foo\r\n`));
    expect(await text(socket)).toMatch(/^HTTP\/1.1 417 [\s\S]*\r\nconnection: close\r\n/);
  });
});

describe('a bad URL', () => {
  const get = (url: string) => `GET ${url} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

  it('is refused, and the connection goes on', async () => {
    const { connection } = await serve(() => say(['ok']));
    const socket = connection();
    socket.write(get('/v1/%zz'));
    const reply = await readUntil(socket, '}}');
    expect(reply).toMatch(/^HTTP\/1.1 400 [\s\S]*\r\nconnection: keep-alive\r\n/i);
    expect(errorIn(reply)).toMatchObject({
      code: 'FST_ERR_BAD_URL',
      message: "'/v1/%zz' is not a valid url component",
    });
    socket.write(get('/health'));
    await readUntil(socket, '"status":"ok"');
  });

  it('gets on a connection too many what all get there', async () => {
    const { app, connection } = await serve(() => say(['ok']), { limits: { maxConnections: 1 } });
    const accepted = new Promise((resolve) => app.server.once('connection', resolve));
    connection();
    await accepted;
    const socket = connection();
    socket.write(get('/v1/%zz'));
    expect(errorIn(await text(socket))).toMatchObject({ code: 'too_many_connections' });
  });

  it('gets of a server that shuts down what all get there', async () => {
    const { app, connection } = await serve(() => say(['ok']));
    await app.drain(0);
    const socket = connection();
    socket.write(get('/v1/%zz'));
    expect(errorIn(await text(socket))).toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
  });

  it('needs the key where all others do', async () => {
    const { connection } = await serve(() => say(['ok']), { apiKeys: ['secret'] });
    const socket = connection();
    socket.write(get('/v1/%zz'));
    expect(errorIn(await readUntil(socket, '}}'))).toMatchObject({ code: 'invalid_api_key' });
  });
});

const errorIn = (reply: string) => JSON.parse(reply.slice(reply.indexOf('{'))).error;

describe('what a request expects', () => {
  it('is refused in the shape of all errors where it is unknown, and the connection goes on', async () => {
    const { connection, engine } = await serve(() => say(['ok']));
    const socket = connection();
    socket.write(post({}, 'Expect: foo\r\nX-Request-Id: mine\r\n'));
    const reply = await readUntil(socket, '}}');
    expect(reply).toMatch(/^HTTP\/1.1 417 Expectation Failed\r\nx-request-id: mine\r\n/);
    expect(errorIn(reply)).toEqual({
      message: 'Expect: only "100-continue" is understood, not "foo"; leave the header out.',
      type: 'invalid_request_error',
      param: null,
      code: 'expectation_failed',
    });
    expect(engine.requests).toEqual([]);
    socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(await readUntil(socket, '"status":"ok"')).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  });

  it('is told to go on where it is 100-continue', async () => {
    const { connection } = await serve(() => say(['ok']));
    const socket = connection();
    socket.write(post({}, 'Expect: 100-Continue\r\n'));
    expect(await readUntil(socket, '"object":"text_completion"')).toMatch(
      /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200/,
    );
  });
});

describe('what never becomes a request', () => {
  it.each([
    ['no HTTP', 'HELLO\r\n\r\n', 400, 'RXLLM_INVALID_REQUEST'],
    ['two lengths', post({}, 'Content-Length: 3\r\n'), 400, 'RXLLM_INVALID_REQUEST'],
    [
      'a header beyond 16 KiB',
      `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(20_000)}`,
      431,
      'headers_too_large',
    ],
  ])('%s', async (_name, sent, status, code) => {
    const { connection } = await serve(() => say(['ok']));
    const socket = connection();
    socket.write(sent);
    const reply = await text(socket);
    expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*\r\nConnection: close\r\n`));
    expect(errorIn(reply)).toMatchObject({ type: 'invalid_request_error', param: null, code });
  });

  it('is a body that does not come: 408', async () => {
    const { app, connection, engine } = await serve(() => say(['ok']));
    expect(app.server.requestTimeout).toBe(30_000);
    const accepted = new Promise<Socket>((resolve) => app.server.once('connection', resolve));
    const socket = connection();
    socket.write(post().slice(0, -4));
    const late = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    app.server.emit('clientError', late, await accepted);
    const reply = await text(socket);
    expect(reply).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/);
    expect(errorIn(reply)).toMatchObject({ code: 'request_timeout' });
    expect(engine.requests).toEqual([]);
  });

  it('does not hold up the shutdown, and is refused when it comes after all', async () => {
    const { app, connection, engine } = await serve(() => say(['ok']));
    const requested = new Promise((resolve) => app.server.once('request', resolve));
    const socket = connection();
    const request = post();
    socket.write(request.slice(0, -4));
    await requested;
    await app.drain(3_600_000);
    socket.write(request.slice(-4));
    expect(errorIn(await text(socket))).toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
    expect(engine.requests).toEqual([]);
  });
});
