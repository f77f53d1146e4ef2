import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { HttpError } from '../errors.ts';

/** Connections beyond the limit that still get a reply; what comes on top is dropped. */
const REFUSABLE = 64;

/** Answers 503 on a connection beyond `max`, WebSockets included, and closes it; `/health` answers on it still. */
export function limitConnections(app: FastifyInstance, max: number): void {
  const served = new Set<Socket>();
  app.server.maxConnections = max + REFUSABLE;
  app.server.on('connection', (socket: Socket) => {
    // One whose upgrade was put aside comes a second time.
    if (served.has(socket) || served.size >= max) return;
    served.add(socket);
    socket.once('close', () => served.delete(socket));
  });
  app.addHook('onRequest', async ({ raw, routeOptions }, reply) => {
    // What is injected has no connection.
    if (served.has(raw.socket) || !(raw.socket instanceof Socket)) return;
    reply.header('connection', 'close');
    if (routeOptions.url === '/health') return;
    reply.header('retry-after', '1');
    const message = `The server has ${max} connections open, the most it may have; try again later, or reuse one.`;
    throw new HttpError(503, 'too_many_connections', message);
  });
}
