import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { HttpError } from './errors.ts';

/** Asks every route but `/health` for `Authorization: Bearer KEY`. Digests are compared: equal in length, in constant time. */
export function requireApiKey(app: FastifyInstance, apiKey: string): void {
  const expected = digest(apiKey);
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url === '/health') return;
    const given = /^Bearer +(.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (given !== undefined && timingSafeEqual(digest(given), expected)) return;
    reply.header('www-authenticate', 'Bearer');
    throw new HttpError(
      401,
      'invalid_api_key',
      'The API key is missing or wrong: send it as "Authorization: Bearer KEY".',
    );
  });
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
