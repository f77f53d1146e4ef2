import { onTestFinished } from 'vitest';
import type { Engine, GenerateRequest } from '../../src/core/contracts/index.ts';
import { buildServer, type ServerOptions } from '../../src/transport/server.ts';
import { fakeEngine, type Step, say } from './fake-engine.ts';
import { silent } from './silent.ts';
import { TestSocket } from './socket.ts';

/** Runs when the test has ended, the latest first. */
export const afterwards = (close: () => unknown) =>
  onTestFinished(async () => {
    await close();
  });

/** A server over a scripted engine, with `open` for sockets; all are closed behind the test. */
export async function serveSockets(script: (request: GenerateRequest) => Iterable<Step>, options?: ServerOptions) {
  const engine = fakeEngine(script);
  return { engine, ...(await listen(engine, options)) };
}

export async function listen(engine: Engine | undefined, options?: ServerOptions) {
  const app = buildServer({ engine: () => engine }, { logger: silent, ...options });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  afterwards(() => app.close());
  const open = (headers?: Record<string, string>) => {
    const socket = new TestSocket(address, headers);
    afterwards(() => socket.ws.terminate());
    return socket.opened();
  };
  return { app, address, open };
}

export const generate = (id: string, fields: object = {}) => ({ type: 'generate', id, prompt: 'hi', ...fields });

/** A token, and then nothing. */
export const hang = (): Step[] => [...say(['a']).slice(0, 3), { type: 'hang' }];

export const token = (id: string) => (message: { type: string; id?: string }) =>
  message.type === 'token' && message.id === id;
