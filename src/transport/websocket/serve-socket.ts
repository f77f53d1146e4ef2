import type { FastifyRequest } from 'fastify';
import { filter, fromEvent, takeUntil } from 'rxjs';
import type { WebSocket } from 'ws';
import type { EngineSource } from '../engine-source.ts';
import { logFault, toErrorReply } from '../errors.ts';
import { refuseUnsafeNames } from '../json-body.ts';
import { boundedSender, type SendLimits } from './bounded-sender.ts';
import { checkMessage, parseFrame } from './client-message.ts';
import { keepHeartbeat } from './heartbeat.ts';
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

/** `going away` (RFC 6455): the server is shutting down. */
export const GOING_AWAY = 1001;

/** Answers the messages of one socket until it closes; an `error` for what is wrong with one, and the others go on. */
export function serveSocket(
  socket: WebSocket,
  request: FastifyRequest,
  source: EngineSource,
  limits: WebSocketLimits,
): void {
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
      refuseUnsafeNames(value);
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
