import { onTestFinished } from 'vitest';
import type { GenerateRequest } from '../../src/core/contracts/index.ts';
import { buildServer } from '../../src/transport/server.ts';
import { fakeEngine, type Step } from './fake-engine.ts';
import { silent } from './silent.ts';

/** A server over a scripted engine, closed behind the test: `post` asks for a chat completion without a port. */
export function serveChat(
  script: (request: GenerateRequest) => Iterable<Step>,
  options?: Parameters<typeof fakeEngine>[1],
) {
  const engine = fakeEngine(script, options);
  const app = buildServer({ engine: () => engine }, { logger: silent, now: () => 1_700_000_000_000 });
  onTestFinished(() => app.close());
  const post = (body: object, headers: Record<string, string> = {}) =>
    app.inject({ method: 'POST', url: '/v1/chat/completions', payload: body, headers });
  const listen = () => app.listen({ port: 0, host: '127.0.0.1' });
  return { engine, app, post, listen };
}

export const messages = [{ role: 'user', content: 'hi' }];

/** The data of each server-sent event. */
export const events = (payload: string) =>
  payload
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => event.replace('data: ', ''));

/** The chunks of a stream, without its end. */
export const chunks = (payload: string) =>
  events(payload)
    .filter((event) => event !== '[DONE]')
    .map((event) => JSON.parse(event));
