import { concatMap, Observable, type OperatorFunction, take } from 'rxjs';
import type { EngineOptions } from '../core/contracts/index.ts';

/** Milliseconds of one turn of the event loop. */
const BUDGET_MS = 4;

/**
 * Does work at once, until it has taken 4 ms of one turn of the event loop, whoever asked for it: what comes then waits,
 * in the order of arrival, for the next turn. One piece of work is never cut, and what is short waits only for others.
 *
 *     values:         --abc-----
 *     inTurns(work):  --a-b-c---   (each takes longer than a turn's share)
 */
export function inTurns<T, R>(
  work: (value: T) => R,
  { clock, betweenSteps }: Pick<EngineOptions, 'clock' | 'betweenSteps'>,
  isShort: (value: T) => boolean = () => false,
): OperatorFunction<T, R> {
  const waiting = new Set<() => void>();
  let usedMs = 0;
  let turnEnds = false;

  const run = (job: () => void) => {
    const start = clock.now();
    job();
    usedMs += clock.now() - start;
    if (usedMs === 0 || turnEnds) return;
    turnEnds = true;
    betweenSteps().pipe(take(1)).subscribe(nextTurn);
  };
  const nextTurn = () => {
    turnEnds = false;
    usedMs = 0;
    for (const job of waiting) {
      if (usedMs >= BUDGET_MS) return;
      waiting.delete(job);
      run(job);
    }
  };

  return concatMap(
    (value) =>
      new Observable<R>((subscriber) => {
        const job = () => {
          let result: R;
          try {
            result = work(value);
          } catch (error) {
            return subscriber.error(error);
          }
          subscriber.next(result);
          subscriber.complete();
        };
        if (waiting.size === 0 && isShort(value)) return job();
        if (waiting.size === 0 && usedMs < BUDGET_MS) return run(job);
        waiting.add(job);
        return () => waiting.delete(job);
      }),
  );
}
