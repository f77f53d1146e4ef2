import { concatMap, defer, from, map, mergeMap, type Observable, of, type SchedulerLike, timer } from 'rxjs';
import type { BenchClient } from './client.ts';
import { type RequestRecord, record } from './record.ts';
import type { TimedRequest } from './workload.ts';

export interface LoadOptions {
  /** Those past it wait at the client; a request's times begin when it is sent. */
  readonly maxConcurrency?: number;
  /** Its time is that of the client's clock. */
  readonly scheduler: SchedulerLike;
}

/**
 * Sends requests as they arrive, whatever has become of those before, and emits the record of each as it ends.
 *
 *     arrivals:          a-b--c-----
 *     maxConcurrency 2:  (A: a--|)(B: b----|), c waits for a
 */
export function load(
  client: BenchClient,
  requests: readonly TimedRequest[],
  { maxConcurrency = Number.POSITIVE_INFINITY, scheduler }: LoadOptions,
): Observable<RequestRecord> {
  return arrivals(requests, scheduler).pipe(mergeMap((request) => record(client, request), maxConcurrency));
}

/** Each request at its time, which is counted from the subscription, so that late timers do not add up. */
export function arrivals(requests: readonly TimedRequest[], scheduler: SchedulerLike): Observable<TimedRequest> {
  return defer(() => {
    const start = scheduler.now();
    return from(requests).pipe(
      concatMap((request) => {
        const wait = start + request.arrivalMs - scheduler.now();
        return wait > 0 ? timer(wait, scheduler).pipe(map(() => request)) : of(request);
      }),
    );
  });
}
