import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { HttpError, toErrorReply } from './errors.ts';

/**
 * Answers what never became a request (no HTTP, too large a header, a body that does not come) in the shape of all
 * other errors, and closes the connection.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  refuse(socket, toHttpError(error));
}

/** The same for a handshake that makes no WebSocket, whose problem ws tells. */
export function answerHandshakeError({ message }: Error, socket: Socket): void {
  // RFC 6455, 4.4: the version that is understood.
  refuse(socket, new HttpError(400, 'RXLLM_INVALID_REQUEST', `${message}.`), 'Sec-WebSocket-Version: 13');
}

function refuse(socket: Socket, error: HttpError, ...headers: readonly string[]): void {
  if (socket.writable && !replyHasBegun(socket)) {
    const { status, body } = toErrorReply(error);
    const json = JSON.stringify(body);
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(json)}`,
      'Connection: close',
      ...headers,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${json}`);
  }
  socket.destroySoon();
}

function toHttpError({ code, message }: NodeJS.ErrnoException): HttpError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new HttpError(408, 'request_timeout', 'The request did not arrive in time.');
    case 'HPE_HEADER_OVERFLOW':
      return new HttpError(431, 'headers_too_large', 'The headers of the request are too large.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new HttpError(413, 'request_too_large', 'The chunk extensions of the request are too large.');
    default:
      return new HttpError(400, 'RXLLM_INVALID_REQUEST', `The request is not HTTP/1.1 (${message}).`);
  }
}

/** As Node's own handler sees it: there is no public way to ask a socket for its reply. */
function replyHasBegun(socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true;
}
