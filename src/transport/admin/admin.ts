import type { FastifyPluginAsync } from 'fastify';
import Type from 'typebox';
import type { Engine } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { type EngineSource, readyEngine } from '../engine-source.ts';
import { HttpError } from '../errors.ts';
import { adminOnly } from './admin-only.ts';

export interface EngineAdmin {
  /** Names that `swap` takes. */
  readonly names: readonly string[];
  swap(name: string): Promise<Engine>;
}

interface AdminOptions {
  readonly source: EngineSource;
  readonly admin: EngineAdmin;
  readonly hasApiKey: boolean;
}

/**
 * `GET /admin/engine` tells which engine serves and which there are; `PUT /admin/engine {"engine": NAME}` swaps it:
 * running requests finish on the old one, and it goes on serving if the new one cannot start.
 */
export const admin: FastifyPluginAsync<AdminOptions> = async (app, { source, admin: { names, swap }, hasApiKey }) => {
  app.addHook('onRequest', adminOnly(hasApiKey));
  const state = () => {
    const { name, description } = readyEngine(source);
    return { engine: name, runtime: description, engines: names };
  };
  app.get('/admin/engine', async () => state());
  const body = Type.Object({ engine: Type.String() }, { additionalProperties: false });
  app.put<{ Body: { engine: string } }>('/admin/engine', { schema: { body } }, async ({ body: { engine }, log }) => {
    if (!names.includes(engine)) {
      const message = `There is no engine "${engine}"; there is ${names.join(', ')}.`;
      throw new HttpError(400, 'RXLLM_ENGINE_UNKNOWN', message, 'engine');
    }
    const { name } = readyEngine(source);
    await swap(engine).catch((error: unknown) => {
      if (!(error instanceof RxllmError && OF_THE_MODEL.test(error.code))) throw error;
      // Its own words may hold paths.
      log.warn(error);
      const message = `The engine "${engine}" cannot serve this model, so "${name}" goes on; the server's log tells why.`;
      throw new HttpError(409, error.code, message, 'engine');
    });
    return state();
  });
};

/** What the model's folder lacks, or has otherwise than an engine needs it. */
const OF_THE_MODEL = /^RXLLM_MODEL_/;
