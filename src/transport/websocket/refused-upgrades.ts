import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { HttpError } from '../errors.ts';

/**
 * Refuses a WebSocket on a route that takes none, where it would be opened and closed at once: RFC 6455, 4.2.2, has 404
 * for it. Whoever refuses one, its connection is closed behind the reply: nobody reads from it any more, and so nobody
 * would hear its client go.
 */
export function refuseUpgrades(app: FastifyInstance, isUpgrade: (request: IncomingMessage) => boolean): void {
  const urls = new Set<string>();
  app.addHook('onRoute', ({ url, wsHandler }) => {
    if (wsHandler) urls.add(url);
  });
  app.addHook('onRequest', async ({ raw }, reply) => {
    if (isUpgrade(raw)) reply.header('connection', 'close');
  });
  // Behind all that may refuse a request, the key's check among it, and in front of a body, which never comes.
  app.addHook('preParsing', async ({ raw, is404, routeOptions: { url = '' } }) => {
    if (!isUpgrade(raw) || is404 || urls.has(url)) return;
    const message = `${url} takes no WebSocket: connect to ${[...urls].join(', ')}, or ask without an upgrade.`;
    throw new HttpError(404, 'not_a_websocket', message);
  });
  app.addHook('onResponse', async ({ raw }) => {
    if (isUpgrade(raw)) raw.socket.destroy();
  });
}
