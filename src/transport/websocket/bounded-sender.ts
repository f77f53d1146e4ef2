import { BehaviorSubject, type Observable } from 'rxjs';
import type { WebSocket } from 'ws';

export interface SendLimits {
  /** Unsent bytes above which `demand$` is false; it is true again at half of that. */
  readonly highWaterMark: number;
  /** Unsent bytes at which a client that does not read is disconnected. */
  readonly maxBuffered: number;
}

export interface Sender {
  send(message: object): void;
  /** false while the client is behind. */
  readonly demand$: Observable<boolean>;
}

/** Sends JSON on a socket, with a bound on what may pile up for a client that reads slowly. */
export function boundedSender(socket: WebSocket, { highWaterMark, maxBuffered }: SendLimits): Sender {
  const demand$ = new BehaviorSubject(true);
  const onSent = () => {
    if (!demand$.value && socket.bufferedAmount <= highWaterMark / 2) demand$.next(true);
  };
  return {
    demand$,
    send: (message) => {
      if (socket.readyState !== socket.OPEN) return;
      socket.send(JSON.stringify(message), onSent);
      if (socket.bufferedAmount > maxBuffered) socket.terminate();
      else if (demand$.value && socket.bufferedAmount > highWaterMark) demand$.next(false);
    },
  };
}
