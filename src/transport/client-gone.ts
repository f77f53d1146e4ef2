import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { defer, filter, fromEvent, merge, type Observable, of, share, take } from 'rxjs';

/**
 * Emits when the client went away before its reply was complete. The response tells it (a request whose body has been
 * read emits `close` although its client is still there), or its connection.
 */
export function clientGone(response: ServerResponse): Observable<unknown> {
  return replyClosed(response).pipe(filter(() => !response.writableFinished));
}

/**
 * Emits once when the reply is complete or its connection is closed. A pipelined request waits for those before it, and
 * until its turn its response has no socket, and would never emit `close`.
 */
export function replyClosed(response: ServerResponse): Observable<unknown> {
  return defer(() => {
    const { socket } = response.req;
    if (response.destroyed || socket.destroyed) return of(true);
    return merge(fromEvent(response, 'close'), socketClosed(socket));
  }).pipe(take(1));
}

const closings = new WeakMap<Socket, Observable<unknown>>();

/** One listener for a socket, however many requests are pipelined on it. */
function socketClosed(socket: Socket): Observable<unknown> {
  let closed$ = closings.get(socket);
  if (closed$ === undefined) {
    closed$ = fromEvent(socket, 'close').pipe(share());
    closings.set(socket, closed$);
  }
  return closed$;
}
