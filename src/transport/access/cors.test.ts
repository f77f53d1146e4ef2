import { describe, expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { TestSocket } from '../../../test/support/socket.ts';
import { buildServer, type ServerOptions } from '../server.ts';

const origin = 'https://page.example';
const preflight = {
  method: 'OPTIONS',
  url: '/v1/chat/completions',
  headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
} as const;

const server = (options: ServerOptions = {}) => buildServer({ engine: () => fakeEngine(() => say(['ok'])) }, options);
const headersOf = async (app: ReturnType<typeof server>, request: object) => (await app.inject(request)).headers;

describe('CORS', () => {
  it('is off unless asked for', async () => {
    const app = server();
    expect((await app.inject(preflight)).statusCode).toBe(405);
    expect(await headersOf(app, { url: '/health', headers: { origin } })).not.toHaveProperty(
      'access-control-allow-origin',
    );
  });

  it('lets the pages of the origins that were given, also with a key, and no others', async () => {
    const app = server({ corsOrigins: [origin], apiKeys: ['secret'] });
    const reply = await app.inject(preflight);
    expect(reply.statusCode).toBe(204);
    expect(reply.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-headers': expect.stringContaining('authorization'),
    });
    const refused = await app.inject({ url: '/v1/models', headers: { origin } });
    expect(refused.statusCode).toBe(401);
    expect(refused.headers['access-control-allow-origin']).toBe(origin);
    const other = { url: '/health', headers: { origin: 'https://other.example' } };
    expect((await headersOf(app, other))['access-control-allow-origin']).not.toBe('https://other.example');
  });

  it('can let those of any', async () => {
    const app = server({ corsOrigins: ['*'] });
    expect((await headersOf(app, { url: '/health', headers: { origin } }))['access-control-allow-origin']).toBe('*');
    expect((await app.inject('/nothing')).json().error.code).toBe('not_found');
  });

  it('holds for event streams and for WebSockets', async () => {
    const app = server({ corsOrigins: [origin] });
    const address = await app.listen({ port: 0, host: '127.0.0.1' });
    const body = JSON.stringify({ prompt: 'hi', stream: true });
    const headers = { origin, 'content-type': 'application/json' };
    const reply = await fetch(`${address}/v1/completions`, { method: 'POST', headers, body });
    expect(reply.headers.get('access-control-allow-origin')).toBe(origin);
    await reply.text();
    await (await new TestSocket(address, { origin }).opened()).close();
    await expect(new TestSocket(address, { origin: 'https://other.example' }).opened()).rejects.toThrow(/403/);
    await app.close();
  });
});
