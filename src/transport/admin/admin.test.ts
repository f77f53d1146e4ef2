import { expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { silent } from '../../../test/support/silent.ts';
import type { Engine } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { buildServer, type ServerOptions } from '../server.ts';

function adminServer(options: Partial<ServerOptions> = {}) {
  let current: Engine = { ...fakeEngine(() => say(['a'])), name: 'one' };
  const swap = async (name: string) => {
    if (name === 'lacking') throw new RxllmError('RXLLM_MODEL_FILE_MISSING', 'model.onnx is missing from /models/m.');
    if (name === 'broken') throw new RxllmError('RXLLM_RUNTIME_UNAVAILABLE', 'It cannot start here.');
    current = { ...current, name };
    return current;
  };
  const admin = { names: ['one', 'two', 'broken', 'lacking'], swap };
  return buildServer({ engine: () => current }, { logger: silent, admin, ...options });
}

const put = (engine: unknown, more: object = {}) =>
  ({ method: 'PUT', url: '/admin/engine', payload: { engine }, ...more }) as const;

it('tells which engine serves, and swaps it', async () => {
  const app = adminServer();
  const engines = ['one', 'two', 'broken', 'lacking'];
  expect((await app.inject('/admin/engine')).json()).toEqual({ engine: 'one', runtime: 'scripted', engines });
  const reply = await app.inject(put('two'));
  expect([reply.statusCode, reply.json()]).toEqual([200, { engine: 'two', runtime: 'scripted', engines }]);
});

it.each([
  ['warp', 400, 'RXLLM_ENGINE_UNKNOWN', /no engine "warp"; there is one, two, broken, lacking/],
  [7, 400, null, /engine/],
  ['lacking', 409, 'RXLLM_MODEL_FILE_MISSING', /^The engine "lacking" cannot serve this model, so "one" goes on/],
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

const url = '/admin/engine';
/** What a server without a key answers to these headers, asked to tell and asked to swap. */
async function answers(headers: Record<string, string>, options?: Partial<ServerOptions>) {
  const app = adminServer(options);
  const replies = [await app.inject({ url, headers }), await app.inject(put('two', { headers }))];
  return replies.map((reply) => [reply.statusCode, ...(reply.statusCode === 200 ? [] : [reply.json().error])]);
}

it.each(['localhost:8000', '127.0.0.1:8000', '[::1]:8000', 'app.localhost', '192.168.1.7'])(
  'answers when it is called %s',
  async (host) => expect(await answers({ host })).toEqual([[200], [200]]),
);

it.each(['evil.example:8000', '127.0.0.1.evil.example', 'localhost.evil.example', 'notlocalhost', '127.evil.example'])(
  'answers no page that has given this machine the name "%s"',
  async (host) => {
    const refused = [403, { code: 'host_not_allowed', message: expect.stringContaining('127.0.0.1') }];
    const own = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
    expect(await answers(own)).toMatchObject([refused, refused]);
  },
);

it('answers its own pages alone, also where others may call the API', async () => {
  const host = 'localhost:8000';
  expect(await answers({ host, origin: 'http://localhost:8000' })).toEqual([[200], [200]]);
  const origin = 'https://page.example';
  const refused = [403, { code: 'origin_not_allowed', message: expect.not.stringContaining('--cors-origin') }];
  for (const headers of [{ origin }, { 'sec-fetch-site': 'cross-site' }, { origin: 'http://localhost:3000' }]) {
    expect(await answers({ host, ...headers })).toMatchObject([refused, refused]);
    expect(await answers({ host, ...headers }, { corsOrigins: [origin] })).toMatchObject([refused, refused]);
  }
});

it('answers any page, under any name, that has the key', async () => {
  const headers = { host: 'models.example', origin: 'https://page.example', authorization: 'Bearer secret' };
  expect(await answers(headers, { apiKeys: ['secret'], corsOrigins: ['https://page.example'] })).toEqual([
    [200],
    [200],
  ]);
});

it('is not there without an admin', async () => {
  const app = buildServer({ engine: () => undefined });
  expect((await app.inject(put('two'))).statusCode).toBe(404);
});
