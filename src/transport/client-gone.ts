import type { ServerResponse } from 'node:http';
import { defer, filter, fromEvent, type Observable, of } from 'rxjs';

/**
 * Emits when the client went away before its reply was complete. The response tells it: a request whose body has been
 * read emits `close` although its client is still there.
 */
export function clientGone(response: ServerResponse): Observable<unknown> {
  return defer(() => (response.destroyed ? of(true) : fromEvent(response, 'close'))).pipe(
    filter(() => !response.writableFinished),
  );
}
