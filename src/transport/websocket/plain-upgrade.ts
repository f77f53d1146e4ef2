import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export function asksForWebSocket({ headers: { upgrade } }: IncomingMessage): boolean {
  return upgrade?.toLowerCase() === 'websocket';
}

/**
 * Calls `then` when the replies to all requests that came on the connection before this one are out: until then it is
 * theirs. Never, where the connection is closed meanwhile.
 */
export function behindReplies(server: Server): (socket: Socket, then: () => void) => void {
  const latest = new WeakMap<Socket, ServerResponse>();
  server.prependListener('request', ({ socket }, response) => latest.set(socket, response));
  return (socket, then) => {
    const before = latest.get(socket);
    if (before === undefined || before.closed) return then();
    const fail = () => socket.destroy();
    // Until then nobody else listens for it.
    socket.on('error', fail);
    before.once('close', () => {
      socket.off('error', fail);
      if (!socket.destroyed) then();
    });
  };
}

/**
 * Answers requests whose upgrade is not ours (`h2c`, as `curl --http2` asks) as if they had not asked (RFC 9110, 7.8).
 * Node 20 stops reading HTTP at any upgrade once there is a listener, so the request goes back in front of its
 * connection, without the header, and the connection to the server: it is read again, with its body.
 */
export function readPlainly(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  socket.unshift(Buffer.concat([Buffer.from(withoutUpgrade(request), 'latin1'), head]));
  // What Node gives an idle connection, and would take back had it read the request itself.
  socket.setTimeout(0);
  server.emit('connection', socket);
}

function withoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.toLowerCase() !== 'upgrade') lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}
