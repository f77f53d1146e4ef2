import { asyncScheduler, filter, fromEvent, merge, type Observable, type TimestampProvider, take, tap } from 'rxjs';

/** The same so soon is the first once more: npm passes on to its child the Ctrl-C that the terminal has sent to both. */
const REPEAT_MS = 1000;

/** What Node tells of a signal: its name, and its number. */
export type Signal = readonly [name: string, number: number];

const signals = (name: NodeJS.Signals): Observable<Signal> =>
  // The listener's arguments, as an array.
  fromEvent(process, name) as Observable<Signal>;

/**
 * Emits at the first SIGINT or SIGTERM, and completes. Until it is subscribed to they end the process as they always do;
 * from then on one more does so, by `exit`, where it is the other one or the first was a second ago: who sends it waits no
 * longer.
 *
 *     signals:             --1-1-----------1--
 *     stopSignals(exit):   --(1|)              (exit at the third)
 */
export function stopSignals(
  exit: (code: number) => void,
  signal$: Observable<Signal> = merge(signals('SIGINT'), signals('SIGTERM')),
  clock: TimestampProvider = asyncScheduler,
): Observable<Signal> {
  const exitAtNext = (first: string, at: number) =>
    signal$
      .pipe(
        filter(([name]) => name !== first || clock.now() - at >= REPEAT_MS),
        take(1),
      )
      // As a shell tells of a process that a signal has ended.
      .subscribe(([, number]) => exit(128 + number));
  return signal$.pipe(
    take(1),
    tap(([name]) => exitAtNext(name, clock.now())),
  );
}
