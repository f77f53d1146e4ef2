import { distinctUntilChanged, filter, Observable, of, type Subscriber, Subscription, take, throwIfEmpty } from 'rxjs';
import type {
  EngineContext,
  GenerateRequest,
  Planned,
  Sequence,
  Settled,
  StagedRecipe,
  TokenEvent,
} from '../../core/contracts/index.ts';
import { engineClosed } from '../../core/engine-closed.ts';
import { RxllmError } from '../../core/errors.ts';
import { failStep } from '../../core/scheduling/fail-step.ts';
import { pause, resume } from '../../core/scheduling/pause.ts';
import { withdraw } from '../../core/scheduling/withdraw.ts';
import { finished } from '../../operators/settle.ts';
import { ABORTED } from './aborted.ts';
import { deadline } from './deadline.ts';
import { forkParent } from './fork-parent.ts';
import { queueFull } from './queue-full.ts';
import { Routes } from './routes.ts';

/** The requests of one engine, from their arrival to their last event. */
export interface Requests {
  /** Cold: a subscription is an arrival, unsubscribing is its cancel. */
  stream(request: GenerateRequest): Observable<TokenEvent>;
  /** Hands a settled step's events, and the errors of single sequences, to their readers. */
  deliver(step: Settled): void;
  /** A step failed: who ends with it, as {@link failStep} says, hears the error. Returns whether anything ended. */
  fail(error: unknown, plans: readonly Planned[]): boolean;
  /** Refuses what comes from now on, and ends with `abort` what is under way. */
  close(): void;
}

/** `wake` tells the loop that there may be something to plan. */
export function createRequests(recipe: StagedRecipe, context: EngineContext, wake: () => void): Requests {
  const { options, waiting, kv } = context;
  const tokenize = recipe.tokenize(context);
  const routes = new Routes();
  let closed = false;

  const refuseIfClosed = () => {
    if (closed) throw engineClosed();
  };

  const enqueue = (sequence: Sequence, reader: Subscriber<TokenEvent>) => {
    refuseIfClosed();
    routes.checkFree(sequence.id);
    if (waiting.length >= options.maxQueue) throw queueFull(waiting.length);
    const parent = forkParent(sequence, (id) => routes.find(id), kv);
    if (parent !== undefined) sequence.parent = parent;
    routes.add(sequence, reader);
    waiting.push(sequence);
    reader.next({ type: 'queued', position: waiting.length - 1 });
    wake();
  };

  const cancel = (sequence: Sequence) => {
    routes.forget(sequence);
    if (sequence.phase === 'finished') return;
    withdraw(sequence, 'cancel', context);
    wake();
  };

  const abort = (sequence: Sequence) => {
    const isOut = withdraw(sequence, 'abort', context);
    wake();
    if (isOut) routes.send(sequence.id, [finished(sequence)]);
  };

  /** Its reader is behind, or has caught up. */
  const setReady = (sequence: Sequence, ready: boolean) => {
    if (sequence.phase === 'finished' || sequence.phase === 'cancelled') return;
    if (ready) resume(sequence, context);
    else pause(sequence, options.clock.now());
    wake();
  };

  const stream = (request: GenerateRequest) =>
    new Observable<TokenEvent>((reader) => {
      refuseIfClosed();
      const overdue$ = deadline(request, options.clock);
      const life = new Subscription();
      let arrived: Sequence | undefined;
      // Before it has become a sequence it may wait for its grammar.
      const endOverdue = () => {
        if (arrived !== undefined) return abort(arrived);
        reader.next({ type: 'finished', result: ABORTED });
        reader.complete();
      };
      life.add(overdue$.subscribe(endOverdue));
      life.add(
        of(request)
          .pipe(tokenize, take(1), filter(Boolean), throwIfEmpty(noSequence))
          .subscribe({
            next: (sequence) => {
              life.add(() => sequence.grammar?.dispose());
              try {
                enqueue(sequence, reader);
                arrived = sequence;
              } catch (error) {
                return reader.error(error);
              }
              life.add(() => cancel(sequence));
              life.add(
                request.demand$?.pipe(distinctUntilChanged()).subscribe({
                  next: (ready) => setReady(sequence, ready),
                  error: (error: unknown) => reader.error(error),
                  complete: () => setReady(sequence, true),
                }),
              );
            },
            error: (error: unknown) => reader.error(error),
          }),
      );
      return life;
    });

  return {
    stream,
    deliver: (step) => routes.deliver(step),
    fail: (error, plans) => {
      // The events of those that had left were lost with the step.
      const left = routes.sequences().filter(({ phase }) => phase === 'finished');
      for (const sequence of left) routes.send(sequence.id, [finished(sequence)]);
      const failed = failStep(plans, left.length > 0, context);
      for (const sequence of failed) routes.sendError(sequence, error);
      return left.length > 0 || failed.length > 0;
    },
    close: () => {
      closed = true;
      for (const sequence of routes.sequences()) abort(sequence);
    },
  };
}

function noSequence(): RxllmError {
  return new RxllmError('RXLLM_RECIPE_INVALID', 'The tokenize stage gave no sequence for a request.');
}
