import type { FastifyReply } from 'fastify';
import {
  distinctUntilChanged,
  fromEvent,
  merge,
  NEVER,
  type Observable,
  type Subject,
  switchMap,
  takeUntil,
  tap,
  timer,
} from 'rxjs';
import { clientGone } from '../client-gone.ts';
import { logFault, toErrorReply } from '../errors.ts';

/** A client that reads nothing for so long has gone away without closing its connection. */
const STALLED_MS = 60_000;

/**
 * Sends each value as a server-sent event, then `[DONE]`. Headers go out with the first value, so an error before it
 * rejects and becomes a plain HTTP error; one after it becomes a last event. `demand$` is false while the client's
 * socket is full. A client that goes away unsubscribes.
 */
export function sendEvents(
  reply: FastifyReply,
  values$: Observable<unknown>,
  demand$: Subject<boolean>,
  stalledMs = STALLED_MS,
): Promise<void> {
  const { raw } = reply;
  const write = (value: unknown) => raw.write(`data: ${JSON.stringify(value)}\n\n`);
  const drained = fromEvent(raw, 'drain').subscribe(() => demand$.next(true));
  const stalled$ = demand$.pipe(
    distinctUntilChanged(),
    switchMap((ready) => (ready ? NEVER : timer(stalledMs))),
    tap(() => raw.destroy()),
  );
  return new Promise((resolve, reject) => {
    const sending = values$.pipe(takeUntil(merge(clientGone(raw), stalled$))).subscribe({
      next: (value) => {
        if (!raw.headersSent) openStream(reply);
        if (!write(value)) demand$.next(false);
      },
      error: (error: unknown) => {
        if (!raw.headersSent) return reject(error);
        const { status, body } = toErrorReply(error, reply.request.id);
        logFault(reply.log, status, error);
        write(body);
        raw.end();
        resolve();
      },
      complete: () => {
        // A client that went away also ends here, maybe before anything was sent to it.
        if (!raw.headersSent) reply.hijack();
        else if (!raw.destroyed) raw.end('data: [DONE]\n\n');
        resolve();
      },
    });
    sending.add(drained);
  });
}

function openStream(reply: FastifyReply): void {
  reply.hijack();
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) raw.setHeader(name, value);
  }
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    // Proxies such as nginx would otherwise collect the events.
    'x-accel-buffering': 'no',
  });
}
