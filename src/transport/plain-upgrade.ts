import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export function asksForWebSocket({ headers: { upgrade } }: IncomingMessage): boolean {
  return upgrade?.toLowerCase() === 'websocket';
}

/**
 * Answers requests whose upgrade is not ours (`h2c`, as `curl --http2` asks) as if they had not asked (RFC 9110, 7.8).
 * Node 20 stops reading HTTP at any upgrade once there is a listener, so the request goes back in front of its
 * connection, without the header, and the connection to the server: it is read again, with its body.
 */
export function plainUpgrades(server: Server): (request: IncomingMessage, socket: Socket, head: Buffer) => void {
  const latest = new WeakMap<Socket, ServerResponse>();
  server.prependListener('request', ({ socket }, response) => latest.set(socket, response));
  return (request, socket, head) => {
    socket.unshift(Buffer.concat([Buffer.from(withoutUpgrade(request), 'latin1'), head]));
    const fail = () => socket.destroy();
    const readAgain = () => {
      socket.off('error', fail);
      if (socket.destroyed) return;
      // What Node gives an idle connection, and would take back had it read the request itself.
      socket.setTimeout(0);
      server.emit('connection', socket);
    };
    const before = latest.get(socket);
    // Replies to requests in front of it are under way: the connection is still theirs.
    if (before === undefined || before.closed) return readAgain();
    before.once('close', readAgain);
    // Until then nobody else listens for it.
    socket.on('error', fail);
  };
}

function withoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.toLowerCase() !== 'upgrade') lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}
