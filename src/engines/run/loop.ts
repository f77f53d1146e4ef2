import {
  catchError,
  concatMap,
  defer,
  EMPTY,
  EmptyError,
  identity,
  merge,
  type Observable,
  of,
  repeat,
  SequenceError,
  Subject,
  share,
  single,
  take,
} from 'rxjs';
import type { EngineContext, Observer, Planned, Settled, StagedRecipe, Tick } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { onEach } from '../../core/on-each.ts';
import { wakesAt } from '../../core/scheduling/fail-step.ts';
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
 * A stage that errors, or gives no step or several, ends its step, not the loop. `onError` is then called with the error and
 * what was planned, and returns whether there is something new to plan.
 */
export function createLoop(
  recipe: StagedRecipe,
  context: EngineContext,
  onError: (error: unknown, plans: readonly Planned[]) => boolean,
): Loop {
  const { clock, betweenSteps } = context.options;
  const wake$ = new Subject<void>();
  /** Of the turn that runs; several where `schedule` gives several steps. */
  let plans: Planned[] = [];
  const takePlan: Observer = (_, stage) => {
    if (stage !== 'schedule' && stage !== 'allocate') return identity;
    return onEach((step) => {
      // A sequence for which there is no room has no row any more, and loses nothing with the step.
      if (stage === 'allocate') plans.pop();
      plans.push(step as Tick as Planned);
    });
  };
  const stages = compose({ ...recipe, observers: [takePlan, ...recipe.observers] }, context);
  let index = 0;
  let awake = false;
  let wakeAt = Number.POSITIVE_INFINITY;
  // A turn may be synchronous from end to end: each starts on a fresh stack, or the stack would overflow.
  const nextTurn = (): Observable<unknown> => {
    if (awake) return betweenSteps();
    const awaited = merge(wake$, after(wakeAt - clock.now(), clock), ...lateMasks(context));
    return awaited.pipe(take(1), concatMap(betweenSteps));
  };
  const turn$ = defer(() => {
    awake = false;
    plans = [];
    return of({ index: index++, now: clock.now() });
  }).pipe(
    stages,
    single(),
    onEach((step) => {
      awake ||= step.rows.length > 0 || step.preempted.length > 0;
      wakeAt = step.wakeAt;
    }),
    catchError((thrown: unknown) => {
      const error = notOneStep(thrown) ?? thrown;
      wakeAt = plans.reduce((at, plan) => Math.min(at, wakesAt(plan)), Number.POSITIVE_INFINITY);
      const changed = onError(error, plans);
      awake ||= changed;
      return EMPTY;
    }),
  );
  return {
    step$: defer(nextTurn).pipe(
      take(1),
      concatMap(() => turn$.pipe(repeat({ delay: nextTurn }))),
      share(),
    ),
    wake: () => {
      awake = true;
      wake$.next();
    },
  };
}

/** Emit when a sequence may go on that has no rows for want of its mask. */
function lateMasks({ running, waiting }: EngineContext): Observable<void>[] {
  return [...running, ...waiting].flatMap(({ awaitsMask, grammar }) => (awaitsMask && grammar ? [grammar.ready$] : []));
}

function notOneStep(error: unknown): RxllmError | undefined {
  if (!(error instanceof EmptyError || error instanceof SequenceError)) return undefined;
  const given = error instanceof EmptyError ? 'no step' : 'several steps';
  const message = `The stages gave ${given} for one tick. Each stage must give one for one.`;
  return new RxllmError('RXLLM_RECIPE_INVALID', message, { cause: error });
}
