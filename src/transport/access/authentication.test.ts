import { expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { TestSocket } from '../../../test/support/socket.ts';
import { buildServer } from '../server.ts';

const chat = {
  method: 'POST',
  url: '/v1/chat/completions',
  payload: { messages: [{ role: 'user', content: 'hi' }] },
} as const;

const engine = fakeEngine(() => say(['ok']));
const swap = async () => engine;
const server = () =>
  buildServer({ engine: () => engine }, { apiKeys: ['one', 'two'], admin: { names: ['one'], swap } });

it.each([
  [{}, 401],
  [{ authorization: 'Bearer three' }, 401],
  [{ authorization: 'Bearer ' }, 401],
  [{ authorization: 'one' }, 401],
  [{ authorization: 'Bearer one,two' }, 401],
  [{ authorization: 'Bearer one' }, 200],
  [{ authorization: 'bearer two' }, 200],
])('%j gives %i', async (headers, status) => {
  const reply = await server().inject({ ...chat, headers });
  expect(reply.statusCode).toBe(status);
  if (status === 200) return;
  expect(reply.json().error.code).toBe('invalid_api_key');
  expect(reply.headers['www-authenticate']).toBe('Bearer');
});

it.each(['/metrics', '/v1/models', '/admin/engine', '/nothing', '/v1/stream'])('is asked for on %s', async (url) => {
  expect((await server().inject(url)).statusCode).toBe(401);
});

it('is not asked for on /health', async () => {
  expect((await server().inject('/health')).statusCode).toBe(200);
});

const asProtocol = (key: string) => `rxllm.bearer.${Buffer.from(key).toString('base64url')}`;

it('comes to a WebSocket in a header or, from a page, as a protocol, which is not sent back', async () => {
  const app = server();
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  await expect(new TestSocket(address).opened()).rejects.toThrow(/401/);
  await expect(new TestSocket(address, {}, ['rxllm', asProtocol('three')]).opened()).rejects.toThrow(/401/);
  const program = await new TestSocket(address, { authorization: 'Bearer one' }).opened();
  const page = await new TestSocket(address, {}, [asProtocol('two'), 'rxllm']).opened();
  expect(page.ws.protocol).toBe('rxllm');
  for (const socket of [program, page]) {
    socket.send({ type: 'generate', id: 'a', prompt: 'hi' });
    expect(await socket.end('a')).toMatchObject({ type: 'finished' });
    await socket.close();
  }
  await app.close();
});
