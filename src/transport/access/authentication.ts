import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { HttpError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answers without a key. */
    readonly isPublic?: boolean;
  }
}

/** A page cannot give a WebSocket headers, but protocols: one that begins so brings the key behind it, in base64url. */
const KEY_PROTOCOL = 'rxllm.bearer.';

/**
 * Asks every route that is not public for one of the keys: `Authorization: Bearer KEY`, or on a WebSocket the protocol
 * `rxllm.bearer.` and the key's UTF-8 in base64url. Digests are compared, equal in length, each in constant time and all
 * of them.
 */
export function requireApiKey(app: FastifyInstance, apiKeys: readonly string[]): void {
  const expected = apiKeys.map(digest);
  app.addHook('onRequest', async ({ headers, routeOptions }, reply) => {
    if (routeOptions.config?.isPublic) return;
    const given = digest(givenKey(headers) ?? '');
    const matches = expected.filter((key) => timingSafeEqual(given, key));
    if (matches.length > 0) return;
    reply.header('www-authenticate', 'Bearer');
    throw new HttpError(
      401,
      'invalid_api_key',
      'The API key is missing or wrong: send it as "Authorization: Bearer KEY".',
    );
  });
}

/** The protocol that is agreed on: the first offered that is no key, which does not go back over the wire. */
export function chooseProtocol(offered: ReadonlySet<string>): string | false {
  return [...offered].find((protocol) => !protocol.startsWith(KEY_PROTOCOL)) ?? false;
}

function givenKey({ authorization, upgrade, ...headers }: IncomingHttpHeaders): string | undefined {
  const bearer = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1];
  if (bearer !== undefined || upgrade === undefined) return bearer;
  const protocols = headers['sec-websocket-protocol']?.split(',') ?? [];
  const protocol = protocols.map((name) => name.trim()).find((name) => name.startsWith(KEY_PROTOCOL));
  return protocol && Buffer.from(protocol.slice(KEY_PROTOCOL.length), 'base64url').toString();
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
