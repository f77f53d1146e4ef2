import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
import { fakeEngine, type Step, say } from '../../test/support/fake-engine.ts';
import { TestSocket } from '../../test/support/socket.ts';
import { eventually } from '../../test/support/waiting.ts';
import { buildServer } from './server.ts';

async function logged(script: () => Step[], level: string) {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level }, { write: (line) => void lines.push(JSON.parse(line)) });
  const app = buildServer({ engine: () => fakeEngine(script) }, { logger, apiKeys: ['top-secret'] });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const headers = { authorization: 'Bearer top-secret', 'content-type': 'application/json', 'x-request-id': 'mine' };
  const post = (body: object) =>
    fetch(`${address}/v1/completions?key=hidden`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { app, address, post, headers, lines };
}

it('tells of each request in a line, with its id, and nothing that it brought', async () => {
  const { app, address, post, headers, lines } = await logged(() => say(['ok']), 'debug');
  for (const stream of [false, true]) await (await post({ prompt: 'private words', stream })).text();
  await (await post({ prompt: 5 })).text();
  const socket = await new TestSocket(address, headers).opened();
  await socket.close();
  await fetch(`${address}/v1/models`, { headers: { authorization: 'Bearer wrong-secret' } });
  await expect(new TestSocket(address).opened()).rejects.toThrow('401');
  await eventually(() => expect(lines.filter(({ method }) => method)).toHaveLength(6));
  const requests = lines.filter(({ method }) => method).map(({ method, path, status }) => [method, path, status]);
  expect(requests).toEqual([
    ['POST', '/v1/completions', 200],
    ['POST', '/v1/completions', 200],
    ['POST', '/v1/completions', 400],
    ['GET', '/v1/stream', 101],
    ['GET', '/v1/models', 401],
    ['GET', '/v1/stream', 401],
  ]);
  expect(lines.filter(({ reqId }) => reqId === 'mine').length).toBeGreaterThanOrEqual(4);
  for (const word of ['secret', 'private', 'hidden']) expect(JSON.stringify(lines)).not.toContain(word);
  await app.close();
});

it('tells at info of what failed alone, with the stack and the id', async () => {
  const error = new Error('out of luck');
  const { app, post, lines } = await logged(() => [...say(['a']).slice(0, 3), { type: 'fail', error }], 'info');
  lines.length = 0;
  for (const stream of [false, true]) await (await post({ prompt: 'hi', stream })).text();
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    expect(line).toMatchObject({ reqId: 'mine', err: { message: 'out of luck', stack: expect.stringMatching(/at /) } });
  }
  await app.close();
});

it('tells stderr of what failed where no logger is given', async () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const error = new Error('out of luck');
  const app = buildServer({ engine: () => fakeEngine(() => [{ type: 'fail', error }]) });
  const reply = await app.inject({ method: 'POST', url: '/v1/completions', payload: { prompt: 'hi' } });
  const lines = stderr.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('out of luck'));
  stderr.mockRestore();
  expect(reply.statusCode).toBe(500);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { reqId: reply.headers['x-request-id'], err: { message: 'out of luck' } },
  ]);
  await app.close();
});
