import type { FastifyInstance } from 'fastify';
import { replyClosed } from './client-gone.ts';

/**
 * One line a request when its reply has ended (of a WebSocket: when it is closed): neither headers nor query, where
 * keys may stand, nor anything of the body.
 */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    replyClosed(reply.raw).subscribe(() => {
      const { method, url, ip, log } = request;
      const path = url.replace(/\?.*$/s, '');
      const opened = request.ws && !reply.raw.headersSent;
      const status = opened ? 101 : reply.raw.statusCode;
      const ms = Math.round(reply.elapsedTime);
      const gone = !opened && !reply.raw.writableFinished && { clientGone: true };
      log.debug({ method, path, status, ms, ip, ...gone }, `${method} ${path} ${status} in ${ms} ms`);
    });
  });
}
