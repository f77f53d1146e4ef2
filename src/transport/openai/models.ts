import type { FastifyPluginAsync } from 'fastify';
import type { Engine } from '../../core/contracts/index.ts';
import { checkModel, type EngineSource, readyEngine } from '../engine-source.ts';

/** `GET /v1/models` and `/v1/models/:id`. */
export const models: FastifyPluginAsync<{ readonly source: EngineSource; readonly now: () => number }> = async (
  app,
  { source, now },
) => {
  const created = Math.floor(now() / 1000);
  const describe = ({ model, options }: Engine) => ({
    id: model.name,
    object: 'model',
    created,
    owned_by: 'rxllm',
    max_model_len: options.maxModelLen,
  });

  app.get('/v1/models', async () => ({ object: 'list', data: [describe(readyEngine(source))] }));

  app.get<{ Params: { id: string } }>('/v1/models/:id', async ({ params }) => {
    const engine = readyEngine(source);
    checkModel(engine, params.id);
    return describe(engine);
  });
};
