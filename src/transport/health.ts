import type { FastifyPluginAsync } from 'fastify';
import { type EngineSource, readyEngine } from './engine-source.ts';

/** `GET /health`: 200 once requests are served, 503 while the model is loading. */
export const health: FastifyPluginAsync<{ readonly source: EngineSource }> = async (app, { source }) => {
  app.get('/health', { config: { isPublic: true } }, async () => {
    readyEngine(source);
    return { status: 'ok' };
  });
};
