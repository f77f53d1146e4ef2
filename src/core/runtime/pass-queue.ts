import { Observable, type Subscriber } from 'rxjs';
import { RxllmError } from '../errors.ts';

interface Waiting<T> {
  readonly pass: () => T | Promise<T>;
  readonly subscriber: Subscriber<T>;
}

/**
 * Forward passes one at a time, in the order in which they are subscribed to. A pass that gives its result at once emits
 * during the call to subscribe, unless another is running.
 */
export class PassQueue<T> {
  private readonly waiting: Waiting<T>[] = [];
  private busy = false;
  private closed: Promise<void> | undefined;
  private whenIdle: (() => void) | undefined;

  /** Cold. Unsubscribing takes a waiting pass out, and drops the result of a running one. */
  run(pass: () => T | Promise<T>): Observable<T> {
    return new Observable((subscriber) => {
      if (this.closed !== undefined) {
        subscriber.error(new RxllmError('RXLLM_RUNTIME_FAILED', 'the model runner is disposed; create a new engine'));
        return;
      }
      const entry = { pass, subscriber };
      this.waiting.push(entry);
      subscriber.add(() => {
        const index = this.waiting.indexOf(entry);
        if (index >= 0) this.waiting.splice(index, 1);
      });
      this.drain();
    });
  }

  /** Refuses what waits and what comes, waits for the running pass, then frees. Idempotent. */
  close(free: () => void | Promise<void>): Promise<void> {
    this.closed ??= this.idle().then(free);
    const error = new RxllmError('RXLLM_RUNTIME_FAILED', 'the model runner was disposed before this pass ran');
    for (const { subscriber } of this.waiting.splice(0)) subscriber.error(error);
    return this.closed;
  }

  private idle(): Promise<void> {
    if (!this.busy) return Promise.resolve();
    return new Promise((resolve) => {
      this.whenIdle = resolve;
    });
  }

  private drain(): void {
    while (!this.busy) {
      const next = this.waiting.shift();
      if (next === undefined) return;
      this.busy = true;
      const { pass, subscriber } = next;
      try {
        const result = pass();
        if (result instanceof Promise) {
          result.then(
            (value) => this.settle(() => emit(subscriber, value)),
            (error) => this.settle(() => subscriber.error(coded(error))),
          );
          return;
        }
        emit(subscriber, result);
      } catch (error) {
        subscriber.error(coded(error));
      }
      this.release();
    }
  }

  private settle(tell: () => void): void {
    tell();
    this.release();
    this.drain();
  }

  private release(): void {
    this.busy = false;
    this.whenIdle?.();
  }
}

/** While a result is told the queue is still busy: its memory is reused only once the reader has returned. */
function emit<T>(subscriber: Subscriber<T>, value: T): void {
  subscriber.next(value);
  subscriber.complete();
}

function coded(cause: unknown): RxllmError {
  if (cause instanceof RxllmError) return cause;
  return new RxllmError('RXLLM_RUNTIME_FAILED', `the forward pass failed: ${String(cause)}`, { cause });
}
