import { afterAll, describe, expect, it } from 'vitest';
import { fakeEngine, type Step, say } from '../../test/support/fake-engine.ts';
import { silent } from '../../test/support/silent.ts';
import { TestSocket } from '../../test/support/socket.ts';
import { RxllmError } from '../core/errors.ts';
import { buildServer } from './server.ts';

const secret = '/home/someone/models/secret.safetensors';
const errors: readonly [name: string, code: string, error: unknown][] = [
  ['a bug', 'internal_error', new TypeError(`cannot read ${secret}`)],
  ['an error of the runtime', 'RXLLM_RUNTIME_FAILED', new RxllmError('RXLLM_RUNTIME_FAILED', `no ${secret}`)],
  ['an error with a status', 'internal_error', Object.assign(new Error(secret), { statusCode: 500, code: 'X' })],
  ['no error', 'internal_error', secret],
];
const headers = { 'x-request-id': 'mine-1', 'content-type': 'application/json' };
const closing: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

describe.each(errors)('%s that tells of a path', async (_name, code, error) => {
  let script: () => Step[] = () => [{ type: 'fail', error }];
  const app = buildServer({ engine: () => fakeEngine(() => script()) }, { logger: silent });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  closing.push(() => app.close());
  const post = (body: object) =>
    fetch(`${address}/v1/completions`, { method: 'POST', headers, body: JSON.stringify({ prompt: 'hi', ...body }) });

  const expectGeneric = (text: string, id = 'mine-1') => {
    expect(text).toContain(code);
    expect(text).toContain(`request id ${id}`);
    for (const word of ['secret', 'someone', '/home', '    at ', '.ts:']) expect(text).not.toContain(word);
  };

  it('is a 500 that tells the request id alone', async () => {
    const reply = await post({});
    expect([reply.status, reply.headers.get('x-request-id')]).toEqual([500, 'mine-1']);
    expectGeneric(await reply.text());
  });

  it('is such an event in a stream that has begun', async () => {
    script = () => [...say(['a']).slice(0, 3), { type: 'fail', error }];
    expectGeneric((await (await post({ stream: true })).text()).split('\n\n').at(-2)!);
  });

  it('is such a message on a WebSocket', async () => {
    const socket = await new TestSocket(address, { 'x-request-id': 'mine-2' }).opened();
    socket.send({ type: 'generate', id: 'a', prompt: 'hi' });
    expectGeneric(JSON.stringify(await socket.end('a')), 'mine-2');
    await socket.close();
  });
});

it('tells the limit of a body', async () => {
  const app = buildServer({ engine: () => fakeEngine(() => say(['ok'])) }, { limits: { maxBody: 3000 } });
  const reply = await app.inject({ method: 'POST', url: '/tokenize', payload: { prompt: 'x'.repeat(3000) } });
  expect([reply.statusCode, reply.json().error.message]).toEqual([413, 'The request body is larger than 3000 bytes.']);
});
