import { createServer, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import fastifyWebsocket from '@fastify/websocket';
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify';
import { filter, fromEvent, takeUntil } from 'rxjs';
import type { WebSocket } from 'ws';
import { chooseProtocol } from '../access/authentication.ts';
import { sameOriginOnly } from '../admin/same-origin.ts';
import { answerHandshakeError } from '../client-error.ts';
import type { EngineSource } from '../engine-source.ts';
import { HttpError, logFault, toErrorReply } from '../errors.ts';
import { boundedSender, type SendLimits } from './bounded-sender.ts';
import { checkMessage, parseFrame } from './client-message.ts';
import { keepHeartbeat } from './heartbeat.ts';
import { asksForWebSocket, behindReplies, readPlainly } from './plain-upgrade.ts';
import { refuseUpgrades } from './refused-upgrades.ts';
import { errorMessage } from './server-message.ts';
import { socketStreams } from './socket-streams.ts';

export interface WebSocketLimits extends SendLimits {
  /** Bytes of one message; a longer one gets an `error`. */
  readonly maxMessage: number;
  /** Streams under way on one socket. */
  readonly maxStreams: number;
  /** Milliseconds between pings. */
  readonly heartbeatMs: number;
}

export const WEBSOCKET_LIMITS: WebSocketLimits = {
  highWaterMark: 256 * 1024,
  maxBuffered: 16 * 1024 ** 2,
  maxMessage: 1024 ** 2,
  maxStreams: 128,
  heartbeatMs: 30_000,
};

/** A frame above this closes its socket (1009), so that nobody can make the server hold endless ones. */
const MAX_FRAME = 16 * 1024 ** 2;
/** `going away` (RFC 6455): the server is shutting down. */
const GOING_AWAY = 1001;
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

function serveSocket(socket: WebSocket, request: FastifyRequest, source: EngineSource, limits: WebSocketLimits): void {
  const sender = boundedSender(socket, limits);
  const describe = (error: unknown, id: string | undefined) => {
    logFault(request.log, toErrorReply(error).status, error);
    return errorMessage(error, id, request.id);
  };
  const streams = socketStreams({
    source,
    sender,
    maxStreams: limits.maxStreams,
    errorMessage: describe,
    onDrained: () => socket.close(GOING_AWAY, 'The server is shutting down.'),
  });
  const receive = (data: Buffer, isBinary: boolean) => {
    let id: string | undefined;
    try {
      const value = parseFrame(data, isBinary, limits.maxMessage);
      id = idOf(value);
      streams.handle(checkMessage(value, request));
    } catch (error) {
      sender.send(describe(error, id));
    }
  };
  socket.on('message', receive);
  socket.once('close', () => streams.cancelAll());
  keepHeartbeat(socket, limits.heartbeatMs);
  request.server.draining$
    .pipe(filter(Boolean), takeUntil(fromEvent(socket, 'close')))
    .subscribe(() => streams.drain());
}

/** The stream that a message speaks of, also where the message is wrong otherwise. */
function idOf(value: object): string | undefined {
  return 'id' in value && typeof value.id === 'string' ? value.id : undefined;
}
