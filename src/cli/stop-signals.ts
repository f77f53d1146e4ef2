import { asyncScheduler, filter, fromEvent, merge, type Observable, type TimestampProvider, take, tap } from 'rxjs';

/** One that comes so soon is the first once more: npm passes on to its child the Ctrl-C that the terminal has sent both. */
const REPEAT_MS = 1000;

/** What Node tells of a signal: its name, and its number. */
export type Signal = readonly [name: string, number: number];

const signals = (name: NodeJS.Signals): Observable<Signal> =>
  // The listener's arguments, as an array.
  fromEvent(process, name) as Observable<Signal>;

/**
 * Emits at the first SIGINT or SIGTERM, and completes. Until it is subscribed to they end the process as they always do;
 * from then on one more does so, by `exit`, where the first was a second ago or more: who waits no longer.
 *
 *     signals:             --1-1-----------1--
 *     stopSignals(exit):   --(1|)              (exit at the third)
 */
export function stopSignals(
  exit: (code: number) => void,
  signal$: Observable<Signal> = merge(signals('SIGINT'), signals('SIGTERM')),
  clock: TimestampProvider = asyncScheduler,
): Observable<Signal> {
  const exitAtNext = (first: number) =>
    signal$
      .pipe(
        filter(() => clock.now() - first >= REPEAT_MS),
        take(1),
      )
      // As a shell tells of a process that a signal has ended.
      .subscribe(([, number]) => exit(128 + number));
  return signal$.pipe(
    take(1),
    tap(() => exitAtNext(clock.now())),
  );
}
