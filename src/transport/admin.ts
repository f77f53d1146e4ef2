import type { FastifyPluginAsync } from 'fastify';
import Type from 'typebox';
import type { Engine } from '../core/contracts/index.ts';
import { type EngineSource, readyEngine } from './engine-source.ts';
import { HttpError } from './errors.ts';
import { isLoopback } from './loopback.ts';

export interface EngineAdmin {
  /** Names that `swap` takes. */
  readonly names: readonly string[];
  swap(name: string): Promise<Engine>;
}

interface AdminOptions {
  readonly source: EngineSource;
  readonly admin: EngineAdmin;
  /** With a key the whole server asks for it; without one, only this machine may swap. */
  readonly hasApiKey: boolean;
}

/**
 * `GET /admin/engine` tells which engine serves and which there are; `PUT /admin/engine {"engine": NAME}` swaps it:
 * running requests finish on the old one, and it goes on serving if the new one cannot start.
 */
export const admin: FastifyPluginAsync<AdminOptions> = async (app, { source, admin: { names, swap }, hasApiKey }) => {
  app.addHook('onRequest', async ({ ip }) => {
    if (hasApiKey || isLoopback(ip)) return;
    throw new HttpError(
      403,
      'admin_not_allowed',
      'Without an API key, /admin answers this machine alone; start the server with --api-key to use it from elsewhere.',
    );
  });
  const state = () => {
    const { name, description } = readyEngine(source);
    return { engine: name, runtime: description, engines: names };
  };
  app.get('/admin/engine', async () => state());
  const body = Type.Object({ engine: Type.String() }, { additionalProperties: false });
  app.put<{ Body: { engine: string } }>('/admin/engine', { schema: { body } }, async ({ body: { engine } }) => {
    if (!names.includes(engine)) {
      const message = `There is no engine "${engine}"; there is ${names.join(', ')}.`;
      throw new HttpError(400, 'RXLLM_ENGINE_UNKNOWN', message, 'engine');
    }
    readyEngine(source);
    await swap(engine);
    return state();
  });
};
