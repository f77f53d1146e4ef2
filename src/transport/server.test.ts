import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeEngine, say } from '../../test/support/fake-engine.ts';
import { eventually } from '../../test/support/waiting.ts';
import type { Engine } from '../core/contracts/index.ts';
import { buildServer, type ServerOptions } from './server.ts';

function server(engine: Engine | undefined, options?: ServerOptions) {
  const app = buildServer({ engine: () => engine }, options);
  onTestFinished(() => app.close());
  return app;
}

const ready = () => fakeEngine(() => say(['ok']));
const chat = {
  method: 'POST',
  url: '/v1/chat/completions',
  payload: { messages: [{ role: 'user', content: 'hi' }] },
} as const;

describe('health and models', () => {
  it('is 503 in OpenAI’s shape while the model is loading', async () => {
    const app = server(undefined);
    for (const request of [{ url: '/health' }, { url: '/v1/models' }, chat]) {
      const reply = await app.inject(request);
      expect(reply.statusCode).toBe(503);
      expect(reply.json().error).toMatchObject({ type: 'server_error', code: 'engine_loading' });
    }
  });

  it('is ok, and lists the model, when it is loaded', async () => {
    const app = server(ready(), { now: () => 5000 });
    expect((await app.inject('/health')).json()).toEqual({ status: 'ok' });
    const model = { id: 'fake-model', object: 'model', created: 5, owned_by: 'rxllm', max_model_len: 64 };
    expect((await app.inject('/v1/models')).json()).toEqual({ object: 'list', data: [model] });
    expect((await app.inject('/v1/models/fake-model')).json()).toEqual(model);
    expect((await app.inject('/v1/models/other')).statusCode).toBe(404);
  });
});

it.each(['/', '/health', '/metrics', '/openapi.json', '/v1/models', '/v1/models/fake-model', '/v1/stream'])(
  '%s is the same with a slash behind it',
  async (path) => {
    const app = server(ready());
    const [plain, slashed, queried] = await Promise.all(
      [path, `${path}/`, `${path}/?a=1`].map((url) => app.inject(url)),
    );
    expect(slashed).toMatchObject({
      statusCode: path === '/v1/stream' ? 426 : 200,
      statusMessage: plain!.statusMessage,
    });
    expect(slashed!.headers['content-type']).toBe(plain!.headers['content-type']);
    expect(queried!.statusCode).toBe(plain!.statusCode);
  },
);

it('a path with a slash behind it is as public as without', async () => {
  const app = server(ready(), { apiKeys: ['secret'] });
  const status = async (url: string) => (await app.inject(url)).statusCode;
  expect(await Promise.all(['/health/', '//', '/v1/models/', '/v1/stream/', '/nothing/'].map(status))).toEqual([
    200, 200, 401, 401, 401,
  ]);
});

describe('errors of the HTTP layer', () => {
  const json = { 'content-type': 'application/json' };
  it.each([
    ['an unknown path', { url: '/nothing' }, 404, 'not_found'],
    ['a wrong method', { url: '/v1/chat/completions' }, 405, 'method_not_allowed'],
    ['a wrong method with a slash', { url: '/v1/chat/completions/' }, 405, 'method_not_allowed'],
    ['an unknown path with a slash', { url: '/nothing/' }, 404, 'not_found'],
    ['two slashes', { url: '/health//' }, 404, 'not_found'],
    ['a wrong method for a pattern', { method: 'DELETE', url: '/v1/models/x?y=1' }, 405, 'method_not_allowed'],
    ['half a JSON', { ...chat, payload: '{"messages":', headers: json }, 400, 'FST_ERR_CTP_INVALID_JSON_BODY'],
    ['an empty body', { ...chat, payload: '', headers: json }, 400, 'FST_ERR_CTP_EMPTY_JSON_BODY'],
    [
      'another media type',
      { ...chat, payload: 'a=b', headers: { 'content-type': 'text/x' } },
      415,
      'unsupported_media_type',
    ],
    ['more than 1 MiB', { ...chat, payload: { messages: 'x'.repeat(1024 * 1024) } }, 413, 'request_too_large'],
    ['a body of null', { ...chat, payload: 'null', headers: json }, 400, 'RXLLM_INVALID_REQUEST'],
    ['no body', { method: 'POST', url: '/v1/chat/completions' }, 400, 'RXLLM_INVALID_REQUEST'],
    ['a broken URL', { url: '/%' }, 400, 'FST_ERR_BAD_URL'],
  ] as const)('%s', async (_name, request, status, code) => {
    const reply = await server(ready()).inject(request);
    expect(reply.statusCode).toBe(status);
    expect(Object.keys(reply.json())).toEqual(['error']);
    expect(reply.json().error).toMatchObject({ type: 'invalid_request_error', code });
    expect(reply.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['{"prompt":"hi","__proto__":{"n":2}}', '"__proto__"'],
    [
      '{"prompt":"hi","response_format":{"type":"json_schema","json_schema":{"schema":{"\\u005f_proto__":1}}}}',
      '"__proto__"',
    ],
    ['{"prompt":"hi","constructor":{"prototype":1}}', '"constructor"'],
  ])('says which property is never taken: %s', async (payload, name) => {
    const reply = await server(ready()).inject({ method: 'POST', url: '/v1/completions', payload, headers: json });
    expect(reply.statusCode).toBe(400);
    expect(reply.json().error).toMatchObject({ code: 'RXLLM_INVALID_REQUEST', message: expect.stringContaining(name) });
  });

  it('says which methods a path takes', async () => {
    expect((await server(ready()).inject('/v1/chat/completions')).headers.allow).toBe('POST');
  });

  it('does not follow hostile nesting', async () => {
    const payload = `{"messages":${'['.repeat(400_000)}${']'.repeat(400_000)}}`;
    const reply = await server(ready()).inject({ ...chat, payload, headers: { 'content-type': 'application/json' } });
    expect(reply.statusCode).toBe(400);
  });

  it('makes its own id in place of one that cannot be echoed', async () => {
    const reply = await server(ready()).inject({ url: '/health', headers: { 'x-request-id': 'a b\u00e9' } });
    expect(reply.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('draining', () => {
  it('refuses new requests, lets those under way finish, then is done', async () => {
    const engine = fakeEngine(() => [{ type: 'wait', ms: 100 }, ...say(['ok'])]);
    const app = server(engine);
    const address = await app.listen({ port: 0, host: '127.0.0.1' });
    const running = fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(chat.payload),
    });
    await eventually(() => expect(engine.active).toBe(1));
    let drained = false;
    const drain = app.drain(60_000).then(() => {
      drained = true;
    });
    const refused = await fetch(`${address}/health`);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: 'RXLLM_ENGINE_CLOSED' } });
    expect(drained).toBe(false);
    expect((await running).status).toBe(200);
    await drain;
  });

  it('waits no longer than the grace period', async () => {
    const engine = fakeEngine(() => [{ type: 'hang' }]);
    const app = server(engine);
    const address = await app.listen({ port: 0, host: '127.0.0.1' });
    const running = fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(chat.payload),
    });
    await eventually(() => expect(engine.active).toBe(1));
    await app.drain(10);
    expect(engine.active).toBe(1);
    await app.close();
    await expect(running).rejects.toThrow();
    await eventually(() => expect(engine.cancelled).toBe(1));
  });
});
