import {
  catchError,
  concatMap,
  defer,
  EMPTY,
  merge,
  type Observable,
  of,
  repeat,
  Subject,
  share,
  take,
  tap,
} from 'rxjs';
import type { EngineContext, Settled, StagedRecipe } from '../core/contracts/index.ts';
import { after } from './after.ts';
import { compose } from './compose.ts';

export interface Loop {
  /** Hot while subscribed: the steps, one after the other, as they settle. Unsubscribing stops the loop. */
  readonly step$: Observable<Settled>;
  /** Something changed that an empty plan may have waited for: an arrival, a cancel, a deadline. */
  wake(): void;
}

/**
 * The one loop that all requests of an engine share. It turns while a plan has rows and sleeps otherwise.
 *
 *     wake:  --w-----------------w---
 *     step$: ----s--s--s---------s---   (sleeps after a step without rows)
 *
 * A stage that errors ends its step, not the loop: `onError` is told, and says whether there is something new to plan.
 */
export function createLoop(recipe: StagedRecipe, context: EngineContext, onError: (error: unknown) => boolean): Loop {
  const { clock, betweenSteps } = context.options;
  const wake$ = new Subject<void>();
  const stages = compose(recipe, context);
  let index = 0;
  let awake = false;
  let wakeAt = Number.POSITIVE_INFINITY;
  // Every turn starts off the stack of the one before it, for a turn may be synchronous from end to end.
  const nextTurn = (): Observable<unknown> => {
    const awaited: Observable<unknown> = awake ? of(undefined) : merge(wake$, after(wakeAt - clock.now(), clock));
    return awaited.pipe(take(1), concatMap(betweenSteps), take(1));
  };
  const turn$ = defer(() => {
    awake = false;
    return of({ index: index++, now: clock.now() });
  }).pipe(
    stages,
    tap((step) => {
      awake ||= step.rows.length > 0 || step.preempted.length > 0;
      wakeAt = step.wakeAt;
    }),
    catchError((error: unknown) => {
      // To plan the same again would fail again.
      wakeAt = Number.POSITIVE_INFINITY;
      const changed = onError(error);
      awake ||= changed;
      return EMPTY;
    }),
  );
  return {
    step$: defer(nextTurn).pipe(
      concatMap(() => turn$.pipe(repeat({ delay: nextTurn }))),
      share(),
    ),
    wake: () => {
      awake = true;
      wake$.next();
    },
  };
}
