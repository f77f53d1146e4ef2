import { expect, it } from 'vitest';
import { fakeEngine, say } from '../../test/support/fake-engine.ts';
import type { Engine } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { buildServer, type ServerOptions } from './server.ts';

function adminServer(options: Partial<ServerOptions> = {}) {
  let current: Engine = { ...fakeEngine(() => say(['a'])), name: 'one' };
  const swap = async (name: string) => {
    if (name === 'broken') throw new RxllmError('RXLLM_RUNTIME_UNAVAILABLE', 'It cannot start here.');
    current = { ...current, name };
    return current;
  };
  const admin = { names: ['one', 'two', 'broken'], swap };
  return buildServer({ engine: () => current }, { admin, ...options });
}

const put = (engine: unknown, more: object = {}) =>
  ({ method: 'PUT', url: '/admin/engine', payload: { engine }, ...more }) as const;

it('tells which engine serves, and swaps it', async () => {
  const app = adminServer();
  const engines = ['one', 'two', 'broken'];
  expect((await app.inject('/admin/engine')).json()).toEqual({ engine: 'one', runtime: 'scripted', engines });
  const reply = await app.inject(put('two'));
  expect([reply.statusCode, reply.json()]).toEqual([200, { engine: 'two', runtime: 'scripted', engines }]);
});

it.each([
  ['warp', 400, 'RXLLM_ENGINE_UNKNOWN', /no engine "warp"; there is one, two, broken/],
  [7, 400, null, /engine/],
  ['broken', 500, 'RXLLM_RUNTIME_UNAVAILABLE', /server failed/],
])('answers %s with %i and leaves the old one serving', async (engine, status, code, message) => {
  const app = adminServer();
  const reply = await app.inject(put(engine));
  expect(reply.statusCode).toBe(status);
  expect(reply.json()).toMatchObject({ error: { message: expect.stringMatching(message), ...(code && { code }) } });
  expect((await app.inject('/admin/engine')).json()).toMatchObject({ engine: 'one' });
});

it('answers this machine alone, unless there is a key', async () => {
  const open = adminServer();
  for (const remoteAddress of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
    expect((await open.inject(put('two', { remoteAddress }))).statusCode).toBe(200);
  }
  for (const remoteAddress of ['192.168.1.7', '::ffff:10.0.0.1', '2001:db8::1']) {
    const reply = await open.inject(put('two', { remoteAddress }));
    expect([reply.statusCode, reply.json()]).toMatchObject([403, { error: { code: 'admin_not_allowed' } }]);
  }
  const keyed = adminServer({ apiKeys: ['secret'] });
  const remote = { remoteAddress: '192.168.1.7' };
  expect((await keyed.inject(put('two', remote))).statusCode).toBe(401);
  const authorized = { ...remote, headers: { authorization: 'Bearer secret' } };
  expect((await keyed.inject(put('two', authorized))).statusCode).toBe(200);
});

it('is not there without an admin', async () => {
  const app = buildServer({ engine: () => undefined });
  expect((await app.inject(put('two'))).statusCode).toBe(404);
});
