import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { TestSocket } from '../../../test/support/socket.ts';
import { afterwards } from '../../../test/support/socket-server.ts';
import { buildServer, type ServerOptions } from '../server.ts';

async function serve(options: ServerOptions = {}, host = '127.0.0.1') {
  const app = buildServer({ engine: () => fakeEngine(() => say(['ok'])) }, options);
  const { port } = new URL(await app.listen({ port: 0, host }));
  afterwards(() => app.close());
  /** The status and the body of a reply to a client that calls the server so; fetch sets the header itself. */
  const ask = (host: string, path = '/v1/completions', headers = {}) =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const method = path === '/v1/completions' ? 'POST' : 'GET';
      const sent = request({ port, method, path, headers: { host, 'content-type': 'application/json', ...headers } });
      sent.once('error', reject);
      sent.once('response', (reply) => {
        text(reply).then((body) => resolve({ status: reply.statusCode!, body }), reject);
      });
      sent.end(method === 'POST' ? '{"prompt":"hi"}' : undefined);
    });
  return { ask, address: `http://127.0.0.1:${port}` };
}

const evil = { host: 'evil.example:8000', origin: 'http://evil.example:8000' };

describe('without a key, on this machine alone', () => {
  it.each(['localhost:8000', '127.0.0.1', '[::1]:8000', '192.168.1.7', 'app.localhost', 'host.docker.internal:8000'])(
    'the server answers when it is called %s',
    async (host) => {
      const { ask } = await serve();
      expect(await ask(host)).toMatchObject({ status: 200 });
    },
  );

  it.each(['/v1/completions', '/v1/models', '/metrics', '/nothing'])(
    'it answers no page on %s that has given this machine a name, and says what to set',
    async (path) => {
      const { ask } = await serve();
      const { status, body } = await ask(evil.host, path, { origin: evil.origin });
      expect(status).toBe(403);
      expect(JSON.parse(body).error).toMatchObject({
        type: 'invalid_request_error',
        code: 'host_not_allowed',
        message: expect.stringMatching(
          /not to "evil.example:8000"; start it with --allowed-host evil.example if .* --api-key\.$/,
        ),
      });
    },
  );

  it('nor on a WebSocket', async () => {
    const { address } = await serve();
    await expect(new TestSocket(address, evil).opened()).rejects.toThrow('403');
  });

  it('it tells its health to all', async () => {
    const { ask } = await serve();
    expect(await ask('evil.example', '/health')).toMatchObject({ status: 200 });
  });

  it('it answers to the names that were allowed', async () => {
    const { ask } = await serve({ allowedHosts: ['Models.example'] });
    expect(await ask('models.EXAMPLE:443')).toMatchObject({ status: 200 });
    expect(await ask('evil.models.example')).toMatchObject({ status: 403 });
    const { ask: askAny } = await serve({ allowedHosts: ['*'] });
    expect(await askAny('any.example')).toMatchObject({ status: 200 });
  });
});

it.each([
  ['with a key', { apiKeys: ['secret'] }, '127.0.0.1'],
  ['where others can reach it, as behind a port mapping', {}, '0.0.0.0'],
])('%s a server answers under any name', async (_name, options, host) => {
  const { ask } = await serve(options, host);
  expect(await ask('models.example', '/v1/models', { authorization: 'Bearer secret' })).toMatchObject({ status: 200 });
});
