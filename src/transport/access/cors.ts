import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** Lets pages of these origins (`*`: of any) call the API: without this, browsers let only its own pages. */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  app.register(cors, {
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'POST', 'PUT'],
    allowedHeaders: ['authorization', 'content-type', 'x-request-id'],
    exposedHeaders: ['x-request-id', 'retry-after'],
    // Seconds for which a browser need not ask again.
    maxAge: 600,
    strictPreflight: false,
  });
}
