import { createServer, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import fastifyWebsocket from '@fastify/websocket';
import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import { chooseProtocol } from '../access/authentication.ts';
import { sameOriginOnly } from '../admin/same-origin.ts';
import { answerHandshakeError } from '../client-error.ts';
import type { EngineSource } from '../engine-source.ts';
import { HttpError } from '../errors.ts';
import { asksForWebSocket, behindReplies, readPlainly } from './plain-upgrade.ts';
import { refuseUpgrades } from './refused-upgrades.ts';
import { GOING_AWAY, serveSocket, type WebSocketLimits } from './serve-socket.ts';

export const WEBSOCKET_LIMITS: WebSocketLimits = {
  highWaterMark: 256 * 1024,
  maxBuffered: 16 * 1024 ** 2,
  maxMessage: 1024 ** 2,
  maxStreams: 128,
  heartbeatMs: 30_000,
};

/** A frame above this closes its socket (1009), so that nobody can make the server hold endless ones. */
const MAX_FRAME = 16 * 1024 ** 2;
/** How long a client may take to answer a close. */
const CLOSE_MS = 1000;

/** Lets routes of `app` that are registered from now on take WebSockets; on other routes one is refused. */
export function addWebSockets(app: FastifyInstance, { maxMessage }: Pick<WebSocketLimits, 'maxMessage'>): void {
  const sockets = new Set<Socket>();
  // Never listens: it hands on the upgrades that are WebSockets.
  const upgrades = createServer();
  const begun = new WeakSet<IncomingMessage>();
  const inItsTurn = behindReplies(app.server);
  app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const isOurs = asksForWebSocket(request);
    if (isOurs) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }
    inItsTurn(socket, () => {
      if (!isOurs) return readPlainly(app.server, request, socket, head);
      begun.add(request);
      upgrades.emit('upgrade', request, socket, head);
    });
  });
  refuseUpgrades(app, (request) => begun.has(request));
  app.register(fastifyWebsocket, {
    options: { maxPayload: Math.max(MAX_FRAME, maxMessage), server: upgrades, handleProtocols: chooseProtocol },
    // ws itself closes a socket that breaks the protocol, with a code that says why.
    errorHandler: (error, _socket, request) => request.log.debug(error),
    preClose(done) {
      for (const client of this.websocketServer.clients) client.close(GOING_AWAY);
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, CLOSE_MS);
      this.websocketServer.close(() => {
        clearTimeout(cut);
        // Those whose upgrade was refused, and never closed by their client.
        for (const socket of sockets) socket.destroy();
        done();
      });
    },
  });
  app.after(() => app.websocketServer.on('wsClientError', answerHandshakeError));
}

/** `/v1/stream`: many token streams on one socket, in JSON messages; `client-message.ts` and `server-message.ts` have them. */
export const websocket: FastifyPluginAsync<{
  readonly source: EngineSource;
  readonly limits?: Partial<WebSocketLimits>;
  /** Pages of other hosts that may connect: `*`, where a key is asked for. */
  readonly origins: readonly string[];
}> = async (app, { source, limits, origins }) => {
  if (!origins.includes('*')) app.addHook('onRequest', sameOriginOnly(origins));
  const allLimits = { ...WEBSOCKET_LIMITS, ...limits };
  app.route({
    method: 'GET',
    url: '/v1/stream',
    handler: async (_request, reply) => {
      reply.header('upgrade', 'websocket');
      throw new HttpError(
        426,
        'upgrade_required',
        '/v1/stream is a WebSocket: connect with ws:// and a WebSocket client.',
      );
    },
    // Not async: what a client sends right behind the handshake is read as soon as this returns.
    wsHandler: (socket, request) => serveSocket(socket, request, source, allLimits),
  });
};
