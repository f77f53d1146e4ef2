import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { TestSocket } from '../../../test/support/socket.ts';
import { eventually } from '../../../test/support/waiting.ts';
import { buildServer } from '../server.ts';

it('refuses a connection beyond the limit with 503, WebSockets too, and serves again when one is closed', async () => {
  const app = buildServer({ engine: () => fakeEngine(() => say(['ok'])) }, { limits: { maxConnections: 2 } });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const models = () => fetch(`${address}/v1/models`, { headers: { connection: 'close' } });
  const socket = await new TestSocket(address).opened();
  const idle = connect(Number(new URL(address).port), '127.0.0.1');
  await eventually(async () => expect((await models()).status).toBe(503));

  const refused = await models();
  expect(refused.headers.get('connection')).toBe('close');
  expect(await refused.json()).toMatchObject({ error: { type: 'server_error', code: 'too_many_connections' } });
  await expect(new TestSocket(address).opened()).rejects.toThrow(/503/);
  expect((await fetch(`${address}/health`)).status).toBe(200);
  socket.send({ type: 'generate', id: 'a', prompt: 'hi' });
  expect(await socket.end('a')).toMatchObject({ type: 'finished' });

  idle.destroy();
  await eventually(async () => expect((await models()).status).toBe(200));
  await socket.close();
  await app.close();
});
