import type { FastifyPluginAsync } from 'fastify';
import type { Registry } from 'prom-client';
import type { EngineSource } from '../engine-source.ts';

/** `GET /metrics`, in Prometheus' text format. */
export const metrics: FastifyPluginAsync<{ readonly registry: Registry; readonly source: EngineSource }> = async (
  app,
  { registry, source },
) => {
  app.get('/metrics', async (_request, reply) => {
    // The first look at an engine is what gives it its gauges.
    source.engine();
    reply.type(registry.contentType);
    return registry.metrics();
  });
};
