import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { HttpError } from './errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route answers everyone. */
    withoutKey?: boolean;
  }
}

/**
 * Asks every route but `/health` and those that say so for `Authorization: Bearer KEY`; a WebSocket that a page opens,
 * which cannot set headers, may bring the key as a subprotocol beside `rxllm`: `rxllm.bearer.` and the key's UTF-8 in
 * base64url. Digests are compared: equal in length, in constant time.
 */
export function requireApiKey(app: FastifyInstance, apiKey: string): void {
  const expected = digest(apiKey);
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url === '/health' || request.routeOptions.config.withoutKey) return;
    const given = keyOf(request.headers);
    if (given !== undefined && timingSafeEqual(digest(given), expected)) return;
    reply.header('www-authenticate', 'Bearer');
    throw new HttpError(
      401,
      'invalid_api_key',
      'The API key is missing or wrong: send it as "Authorization: Bearer KEY".',
    );
  });
}

function keyOf({ authorization, upgrade, ...headers }: IncomingHttpHeaders): string | undefined {
  const bearer = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1];
  if (bearer !== undefined || upgrade === undefined) return bearer;
  const encoded = /(?:^|,) *rxllm\.bearer\.([\w-]+) *(?:,|$)/.exec(headers['sec-websocket-protocol'] ?? '')?.[1];
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64url').toString();
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
