import { Observable, Subject, take } from 'rxjs';
import type { GrammarMatcher, TokenId, TokenMask } from '../contracts/index.ts';

/** What a matcher needs of its thread. */
export interface MatcherThread {
  accept(id: TokenId): void;
  /** Takes in what the thread has sent. */
  poll(): void;
  /** The process must not end meanwhile; returns how to let go. */
  hold(): () => void;
  dispose(): void;
}

/** A text's place in its grammar, which the thread keeps; here is what the thread has said of it last. */
export class ThreadMatcher implements GrammarMatcher {
  readonly #thread: MatcherThread;
  readonly #answered$ = new Subject<void>();
  /** Masks asked for and not received: that of the beginning, and one a token. */
  #pending = 1;
  #mask: TokenMask | undefined;
  #error: Error | undefined;
  #disposed = false;

  constructor(thread: MatcherThread) {
    this.#thread = thread;
  }

  get isReady(): boolean {
    if (!this.#isAnswered) this.#thread.poll();
    return this.#isAnswered;
  }

  readonly ready$ = new Observable<void>((subscriber) => {
    if (this.isReady) {
      subscriber.next();
      return subscriber.complete();
    }
    const release = this.#thread.hold();
    subscriber.add(release);
    subscriber.add(this.#answered$.pipe(take(1)).subscribe(subscriber));
    return undefined;
  });

  mask(): TokenMask {
    if (this.#error) throw this.#error;
    if (!this.isReady) throw new Error('the mask was read before it was ready');
    return this.#mask!;
  }

  accept(id: TokenId): void {
    if (this.#disposed) return;
    this.#pending += 1;
    this.#thread.accept(id);
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#thread.dispose();
    // Who waits for it is to find that it has gone.
    this.fail(new Error('the matcher is disposed of'));
  }

  receive(mask: TokenMask): void {
    this.#pending -= 1;
    this.#mask = mask;
    if (this.#pending === 0) this.#answered$.next();
  }

  fail(error: Error): void {
    this.#error ??= error;
    this.#answered$.next();
  }

  get #isAnswered(): boolean {
    return this.#pending === 0 || this.#error !== undefined;
  }
}
