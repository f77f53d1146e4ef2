import { BehaviorSubject, defer, first, of, type SchedulerLike, Subscription, switchMap, timer } from 'rxjs';
import type { GrammarMatcher } from '../../src/core/contracts/index.ts';

/** Allows each of 32 tokens everywhere, at once. */
export function anyToken(): GrammarMatcher {
  return {
    isReady: true,
    ready$: of(undefined),
    mask: () => new Int32Array([-1]),
    accept: () => {},
    dispose: () => {},
  };
}

/** A matcher each of whose masks takes at least so many milliseconds on the clock. */
export function slowed(matcher: GrammarMatcher, delayMs: number, clock: SchedulerLike): GrammarMatcher {
  const isOver$ = new BehaviorSubject(false);
  let delay = Subscription.EMPTY;
  const begin = () => {
    isOver$.next(false);
    delay = timer(delayMs, clock).subscribe(() => isOver$.next(true));
  };
  begin();
  return {
    get isReady() {
      return isOver$.value && matcher.isReady;
    },
    ready$: defer(() =>
      isOver$.pipe(
        first((isOver) => isOver),
        switchMap(() => matcher.ready$),
      ),
    ),
    mask: () => matcher.mask(),
    accept: (id) => {
      matcher.accept(id);
      begin();
    },
    dispose: () => {
      delay.unsubscribe();
      isOver$.next(true);
      matcher.dispose();
    },
  };
}
