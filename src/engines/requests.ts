import { distinctUntilChanged, Observable, of, type Subscriber, Subscription, throwIfEmpty } from 'rxjs';
import type {
  EngineContext,
  GenerateRequest,
  Sequence,
  SequenceId,
  Settled,
  StagedRecipe,
  TokenEvent,
} from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { failStep } from '../core/scheduling/fail-step.ts';
import { pause, resume } from '../core/scheduling/pause.ts';
import { withdraw } from '../core/scheduling/withdraw.ts';
import { finished } from '../operators/settle.ts';
import { ABORTED } from './aborted.ts';
import { deadline } from './deadline.ts';

interface Route {
  readonly sequence: Sequence;
  readonly reader: Subscriber<TokenEvent>;
}

/** The requests of one engine, from their arrival to their last event. */
export interface Requests {
  /** Cold: a subscription is an arrival, unsubscribing is its cancel. */
  stream(request: GenerateRequest): Observable<TokenEvent>;
  /** Hands a settled step's events, and the errors of single sequences, to their readers. */
  deliver(step: Settled): void;
  /** A step failed: who ends with it, as {@link failStep} says, hears the error. Returns whether anything ended. */
  fail(error: unknown, planned: readonly Sequence[]): boolean;
  /** Refuses what comes from now on, and ends with `abort` what is under way. */
  close(): void;
}

/** Routes between readers and sequences. `wake` tells the loop that there may be something to plan. */
export function createRequests(recipe: StagedRecipe, context: EngineContext, wake: () => void): Requests {
  const { options, waiting, kv } = context;
  const tokenize = recipe.tokenize(context);
  const routes = new Map<SequenceId, Route>();
  let closed = false;

  const refuseIfClosed = () => {
    if (closed) throw new RxllmError('RXLLM_ENGINE_CLOSED', 'The engine is closed; start another.');
  };

  const enqueue = (sequence: Sequence, reader: Subscriber<TokenEvent>) => {
    refuseIfClosed();
    if (routes.has(sequence.id)) {
      throw new RxllmError('RXLLM_INVALID_REQUEST', `id: a request "${sequence.id}" is under way; give another id.`, {
        param: 'id',
      });
    }
    if (waiting.length >= options.maxQueue) {
      throw queueFull(waiting.length);
    }
    setParent(sequence);
    routes.set(sequence.id, { sequence, reader });
    waiting.push(sequence);
    reader.next({ type: 'queued', position: waiting.length - 1 });
    wake();
  };

  /** Nothing to share where the parent has ended, or blocks cannot be shared. */
  const setParent = (sequence: Sequence) => {
    const { forkOf } = sequence.request;
    const parent = forkOf === undefined ? undefined : routes.get(forkOf)?.sequence;
    if (parent === undefined || kv.pool.layout !== 'paged') return;
    const isSame =
      sequence.request.cacheSalt === parent.request.cacheSalt &&
      sequence.tokens.length === parent.promptLength &&
      sequence.tokens.every((id, i) => id === parent.tokens[i]);
    if (!isSame) {
      const message = `forkOf: the request "${forkOf}" has another prompt or another cacheSalt.`;
      throw new RxllmError('RXLLM_INVALID_REQUEST', message, { param: 'forkOf' });
    }
    sequence.parent = parent;
  };

  /** Before its reader hears the last of it, for that one may ask again at once under the same id. */
  const forget = (sequence: Sequence) => {
    if (routes.get(sequence.id)?.sequence === sequence) routes.delete(sequence.id);
  };

  const cancel = (sequence: Sequence) => {
    forget(sequence);
    if (sequence.phase === 'finished') return;
    withdraw(sequence, 'cancel', context);
    wake();
  };

  const abort = (sequence: Sequence) => {
    const isOut = withdraw(sequence, 'abort', context);
    wake();
    if (isOut) send(sequence.id, [finished(sequence)]);
  };

  /** Its reader is behind, or has caught up. */
  const setReady = (sequence: Sequence, ready: boolean) => {
    if (sequence.phase === 'finished' || sequence.phase === 'cancelled') return;
    if (ready) resume(sequence, context);
    else pause(sequence, options.clock.now());
    wake();
  };

  const send = (id: SequenceId, events: readonly TokenEvent[]) => {
    const route = routes.get(id);
    if (route === undefined) return;
    for (const event of events) {
      if (event.type === 'finished') forget(route.sequence);
      route.reader.next(event);
      if (event.type === 'finished') route.reader.complete();
    }
  };

  const sendError = (id: SequenceId, error: unknown) => {
    const route = routes.get(id);
    if (route === undefined) return;
    forget(route.sequence);
    route.reader.error(error);
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
          .pipe(tokenize, throwIfEmpty(noSequence))
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
    deliver: ({ events, failed }) => {
      for (const [id, toSend] of events) send(id, toSend);
      for (const [id, error] of failed) sendError(id, error);
    },
    fail: (error, planned) => {
      // The events of those that had left were lost with the step.
      const left = [...routes.values()].filter(({ sequence }) => sequence.phase === 'finished');
      for (const { sequence } of left) send(sequence.id, [finished(sequence)]);
      const failed = failStep(planned, left.length > 0, context);
      // After a cancel its id may be another's by now.
      for (const sequence of failed) if (routes.get(sequence.id)?.sequence === sequence) sendError(sequence.id, error);
      return left.length > 0 || failed.length > 0;
    },
    close: () => {
      closed = true;
      for (const { sequence } of [...routes.values()]) abort(sequence);
    },
  };
}

function noSequence(): RxllmError {
  return new RxllmError('RXLLM_RECIPE_INVALID', 'The tokenize stage gave no sequence for a request.');
}

export function queueFull(waiting: number): RxllmError {
  return new RxllmError(
    'RXLLM_QUEUE_FULL',
    `The queue is full: ${waiting} requests wait (maxQueue, --max-queue). Try again later.`,
  );
}
