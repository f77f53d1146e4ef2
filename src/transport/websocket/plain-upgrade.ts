import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export function asksForWebSocket({ headers: { upgrade } }: IncomingMessage): boolean {
  return upgrade?.toLowerCase() === 'websocket';
}

/** Bytes that are read ahead while an upgrade waits; once there are more, a client that goes is not noticed. */
const MAX_AHEAD = 64 * 1024;

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
    const giveBack = tend(socket);
    before.once('close', () => {
      giveBack();
      if (!socket.destroyed) then();
    });
  };
}

/**
 * Does what Node no longer does for a connection once an upgrade has come on it: its replies go on when it has drained,
 * and it is destroyed when its client goes, for which it must be read. What was read comes again after the call of the
 * function that is returned.
 */
function tend(socket: Socket & { readonly _httpMessage?: ServerResponse | null }): () => void {
  const ahead: Buffer[] = [];
  let bytes = 0;
  const read = () => {
    for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
      ahead.push(chunk);
      bytes += chunk.length;
    }
    if (bytes > MAX_AHEAD) socket.off('readable', read);
  };
  const drained = () => socket._httpMessage?.emit('drain');
  const gone = () => socket.destroy();
  socket.on('readable', read).on('drain', drained).on('end', gone).on('error', gone);
  return () => {
    socket.off('readable', read).off('drain', drained).off('end', gone).off('error', gone);
    if (!socket.destroyed) socket.unshift(Buffer.concat(ahead));
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
