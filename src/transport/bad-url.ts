import type { IncomingMessage } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** A path without a route. */
const NOWHERE = '/400';

const errors = new WeakMap<IncomingMessage, FastifyError>();

/**
 * Fastify's `frameworkErrors`: a URL that cannot be decoded, or has too long a parameter. It would be answered past all
 * hooks, those too that count and close connections; sent on to an unknown path it is a request like others.
 */
export function sendOnBadUrl(error: FastifyError, { raw, server }: FastifyRequest, reply: FastifyReply): void {
  const { url } = raw;
  errors.set(raw, error);
  raw.url = NOWHERE;
  server.routing(raw, reply.raw);
  if (url !== undefined) raw.url = url;
}

/** Refuses what `sendOnBadUrl` has sent on, behind all that may refuse a request. */
export function refuseBadUrls(app: FastifyInstance): void {
  app.addHook('preParsing', async ({ raw }) => {
    const error = errors.get(raw);
    if (error !== undefined) throw error;
  });
}
