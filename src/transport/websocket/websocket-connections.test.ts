import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { say } from '../../../test/support/fake-engine.ts';
import { afterwards, generate, hang, serveSockets, token } from '../../../test/support/socket-server.ts';
import { eventually } from '../../../test/support/waiting.ts';

describe('a connection', () => {
  it('reads what comes in one packet with the handshake', async () => {
    const { address, engine } = await serveSockets(() => say(['ok']));
    const { hostname, port } = new URL(address);
    const socket = connect(Number(port), hostname);
    afterwards(() => socket.destroy());
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
    await eventually(() => expect(received).toContain('"type":"finished"'));
    expect(received).toContain('"text":"ok"');
    expect(engine.requests).toHaveLength(1);
  });

  it.each([
    ['Sec-WebSocket-Version: 12', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='],
    ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: short'],
  ])('with a wrong handshake (%s, %s) is refused in the shape of all errors', async (...headers) => {
    const { address } = await serveSockets(() => say(['ok']));
    const { hostname, port } = new URL(address);
    const socket = connect(Number(port), hostname);
    afterwards(() => socket.destroy());
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    const fixed = ['GET /v1/stream HTTP/1.1', `Host: ${hostname}`, 'Connection: Upgrade', 'Upgrade: websocket'];
    socket.write([...fixed, ...headers, '\r\n'].join('\r\n'));
    await new Promise((resolve) => socket.once('close', resolve));
    expect(received).toMatch(/^HTTP\/1.1 400 /);
    expect(received).toContain('Sec-WebSocket-Version: 13');
    expect(JSON.parse(received.split('\r\n\r\n')[1]!)).toMatchObject({
      error: {
        type: 'invalid_request_error',
        code: 'RXLLM_INVALID_REQUEST',
        message: expect.stringMatching(/^Missing or invalid/),
      },
    });
  });

  it('needs the API key', async () => {
    const { open } = await serveSockets(() => say(['ok']), { apiKeys: ['secret'] });
    await expect(open()).rejects.toThrow('401');
    const socket = await open({ authorization: 'Bearer secret' });
    socket.send(generate('a'));
    await socket.end('a');
    expect(socket.text('a')).toBe('ok');
  });

  it('takes the API key as a subprotocol, from a page that cannot set headers', async () => {
    const { address } = await serveSockets(() => say(['ok']), { apiKeys: ['secret key'] });
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

  it('takes the path with a slash behind it', async () => {
    const { address } = await serveSockets(() => say(['ok']));
    const socket = new WebSocket(`${address.replace('http', 'ws')}/v1/stream/`);
    afterwards(() => socket.terminate());
    const types = new Promise<string[]>((resolve, reject) => {
      const seen: string[] = [];
      socket.once('open', () => socket.send(JSON.stringify(generate('a')))).once('error', reject);
      socket.on('message', (data) => {
        seen.push(JSON.parse(String(data)).type);
        if (seen.at(-1) === 'finished') resolve(seen);
      });
    });
    expect(await types).toEqual(['queued', 'token', 'finished']);
  });

  it('is refused with an HTTP error elsewhere, and plain HTTP is refused here', async () => {
    const { address } = await serveSockets(() => say(['ok']));
    const unknown = new WebSocket(`${address.replace('http', 'ws')}/v1/other`);
    await expect(new Promise((_, reject) => unknown.once('error', reject))).rejects.toThrow('404');
    const plain = await fetch(`${address}/v1/stream`);
    expect(plain.status).toBe(426);
    expect(await plain.json()).toMatchObject({ error: { code: 'upgrade_required' } });
  });

  it.each(['/', '/health', '/metrics', '/openapi.json', '/v1/models', '/admin/observe', '/nothing'])(
    'is refused on %s before it is opened, in the shape of all errors',
    async (path) => {
      const { address, open } = await serveSockets(() => say(['ok']));
      const socket = new WebSocket(address.replace('http', 'ws') + path);
      const reply = await new Promise<IncomingMessage>((resolve, reject) => {
        socket.once('unexpected-response', (_request, response) => resolve(response));
        socket.once('open', () => reject(new Error('it was opened')));
      });
      expect([reply.statusCode, reply.headers.connection]).toEqual([404, 'close']);
      const { error } = JSON.parse(await text(reply));
      expect(error).toMatchObject({ type: 'invalid_request_error', message: expect.stringContaining(path) });
      if (path !== '/nothing') expect(error.message).toContain('connect to /v1/stream');
      await (await open()).close();
    },
  );

  it('leaves no connection behind where it is refused', async () => {
    const { address, app } = await serveSockets(() => say(['ok']), { apiKeys: ['secret'] });
    const closed = new Promise((resolve) =>
      app.server.once('connection', (socket: Socket) => socket.once('close', resolve)),
    );
    const { hostname, port } = new URL(address);
    const socket = connect(Number(port), hostname);
    afterwards(() => socket.destroy());
    const fields = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
    const key = `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`;
    socket.write(['GET /v1/stream HTTP/1.1', `Host: ${hostname}`, ...fields, key, '\r\n'].join('\r\n'));
    expect(await text(socket)).toMatch(/^HTTP\/1.1 401 [\s\S]*\r\nconnection: close\r\n/);
    await closed;
  });

  it('is closed when its frame is beyond all limits, and the server goes on', async () => {
    const { open } = await serveSockets(() => say(['ok']));
    const socket = await open();
    socket.send(Buffer.alloc(17 * 1024 ** 2));
    expect(await socket.closed).toBe(1009);
    const other = await open();
    other.send(generate('a'));
    await other.end('a');
  });

  it('is ended when its peer no longer answers', async () => {
    const { open, engine } = await serveSockets(hang, { webSocket: { heartbeatMs: 200 } });
    const alive = await open();
    const dead = await open();
    alive.send(generate('a'));
    dead.send(generate('a'));
    await dead.next(token('a'));
    dead.ws.pause();
    await eventually(() => expect(engine).toMatchObject({ active: 1, cancelled: 1 }));
    expect(alive.ws.readyState).toBe(WebSocket.OPEN);
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
    const { open, address } = await serveSockets(() => say(['ok']));
    const socket = open(origin === undefined ? {} : { origin: origin === 'same' ? address : origin });
    if (!allowed) return expect(socket).rejects.toThrow('Unexpected server response: 403');
    (await socket).send(generate('x'));
    expect(await (await socket).end('x')).toMatchObject({ type: 'finished' });
  });

  it('may connect with the API key', async () => {
    const { open } = await serveSockets(() => say(['ok']), { apiKeys: ['secret'] });
    await open({ origin: 'https://elsewhere.example', authorization: 'Bearer secret' });
  });
});
