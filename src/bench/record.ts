import { catchError, defer, last, map, type Observable, of, scan } from 'rxjs';
import type { BenchClient, BenchRequest, ClientEvent } from './client.ts';

/** One request as its client saw it; times in milliseconds, 0 where one was not measured. */
export interface RequestRecord {
  readonly outcome: 'completed' | 'cancelled' | 'failed';
  /** Why it failed. */
  readonly error?: string;
  /** On the client's clock. */
  readonly sentAt: number;
  readonly endedAt: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly ttftMs: number;
  readonly tpotMs: number;
  /** Between one piece and the next. */
  readonly itlMs: readonly number[];
  readonly e2eMs: number;
}

type Finished = Extract<ClientEvent, { type: 'finished' }>;
interface Seen {
  readonly pieces: number[];
  readonly finished?: Finished;
}

/**
 * Sends a request and measures it at the client; emits its record once, also when the request fails.
 *
 *     events: --piece--piece--finished|
 *     record: -----------------------(r|)
 *
 * A reply of several tokens that comes in one piece does not tell when its first token was there: its TTFT and TPOT
 * are not measured. One that ends with `abort` (a deadline, a shutdown) counts as cancelled.
 */
export function record(client: BenchClient, request: BenchRequest): Observable<RequestRecord> {
  return defer(() => {
    const sentAt = client.clock.now();
    return client.send(request).pipe(
      scan<ClientEvent, Seen>(
        (seen, event) => {
          if (event.type === 'finished') return { ...seen, finished: event };
          seen.pieces.push(event.at);
          return seen;
        },
        { pieces: [] },
      ),
      last(),
      map(({ pieces, finished }) => {
        if (finished === undefined) throw new Error('the reply ended without its last event');
        return completed(sentAt, pieces, finished);
      }),
      catchError((error: unknown) => of(failed(sentAt, client.clock.now(), error))),
    );
  });
}

function completed(sentAt: number, pieces: readonly number[], finished: Finished): RequestRecord {
  const { at: endedAt, inputTokens, outputTokens, finishReason } = finished;
  const first = pieces[0];
  const seen = first !== undefined && (pieces.length > 1 || outputTokens === 1);
  return {
    outcome: finishReason === 'abort' ? 'cancelled' : 'completed',
    sentAt,
    endedAt,
    inputTokens,
    outputTokens,
    ttftMs: seen ? first - sentAt : 0,
    tpotMs: seen && outputTokens > 1 ? (pieces.at(-1)! - first) / (outputTokens - 1) : 0,
    itlMs: pieces.slice(1).map((at, index) => at - pieces[index]!),
    e2eMs: endedAt - sentAt,
  };
}

function failed(sentAt: number, endedAt: number, error: unknown): RequestRecord {
  return {
    outcome: 'failed',
    error: error instanceof Error ? error.message : String(error),
    sentAt,
    endedAt,
    inputTokens: 0,
    outputTokens: 0,
    ttftMs: 0,
    tpotMs: 0,
    itlMs: [],
    e2eMs: endedAt - sentAt,
  };
}
