import { concatMap, NEVER, type Observable, type SchedulerLike, timer } from 'rxjs';

/** `setTimeout` takes a longer time for 1 ms. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Emits once, after any number of milliseconds; never after `Infinity`.
 *
 *     after(3): ---(0|)
 */
export function after(ms: number, clock: SchedulerLike): Observable<unknown> {
  if (ms === Number.POSITIVE_INFINITY) return NEVER;
  if (ms <= LONGEST_MS) return timer(Math.max(0, ms), clock);
  return timer(LONGEST_MS, clock).pipe(concatMap(() => after(ms - LONGEST_MS, clock)));
}
