import { Observable, type Subscriber } from 'rxjs';
import type { GrammarMatcher } from '../contracts/index.ts';
import { engineClosed } from '../engine-closed.ts';
import { RxllmError } from '../errors.ts';
import { type CacheLimits, GrammarCache } from './grammar-cache.ts';
import type { GrammarSource } from './grammar-source.ts';
import type { PackedVocabulary } from './thread-messages.ts';

export interface GrammarLimits extends CacheLimits {
  /** Texts that wait for a grammar; one more is refused. */
  readonly maxWaiting: number;
}

export const GRAMMAR_LIMITS: GrammarLimits = { capacity: 16, maxWaiting: 64, maxCompiling: 2, compileMs: 10_000 };

/** A grammar by its key: what has the same key has the same source, which is asked for only where it must be compiled. */
export interface WantedGrammar {
  readonly key: string;
  readonly source: () => GrammarSource;
}

interface Waiting {
  readonly key: string;
  readonly source: GrammarSource;
  readonly reader: Subscriber<GrammarMatcher>;
}

/**
 * Who waits for the grammars of one vocabulary. A text whose grammar is compiled waits for nobody; the others come in
 * their order, also where all grammars that are kept are always in use.
 */
export class Grammars {
  readonly #cache: GrammarCache;
  readonly #maxWaiting: number;
  #waiting: Waiting[] = [];
  /** Given to nobody any more, so that it gets out of use and makes room for who waits. */
  #retiring: string | undefined;
  #closed = false;

  /** `pack` is asked for the vocabulary once, with the first grammar. */
  constructor(pack: () => PackedVocabulary, limits: Partial<GrammarLimits> = {}) {
    const { maxWaiting, ...cacheLimits } = { ...GRAMMAR_LIMITS, ...limits };
    this.#cache = new GrammarCache(pack, cacheLimits);
    this.#maxWaiting = maxWaiting;
  }

  /** How many are compiled or being so. */
  get size(): number {
    return this.#cache.size;
  }

  /**
   * A matcher at the beginning of a text, once the grammar is compiled; it must be disposed of. Cold; emits once.
   * Errors with `RXLLM_GRAMMAR_INVALID`, `RXLLM_GRAMMAR_TOO_LARGE`, `RXLLM_QUEUE_FULL`, `RXLLM_ENGINE_CLOSED`.
   */
  matcher({ key, source }: WantedGrammar): Observable<GrammarMatcher> {
    return new Observable((reader) => {
      if (this.#closed) return reader.error(engineClosed());
      const matcher = this.#open(key);
      if (matcher !== undefined) return give(reader, matcher);
      const waiting: Waiting = { key, source: source(), reader };
      if (this.#waiting.length >= this.#maxWaiting) return reader.error(queueFull(this.#waiting.length));
      this.#waiting.push(waiting);
      reader.add(() => {
        this.#leave(waiting);
        // What is compiled for nobody makes room for others.
        const madeRoom = !this.#isAwaited(waiting.key) && this.#cache.cancel(waiting.key);
        if (madeRoom || this.#retiring !== undefined) this.#advance();
      });
      this.#advance();
      return undefined;
    });
  }

  /** Ends every thread; who waits hears `RXLLM_ENGINE_CLOSED`. */
  close(): void {
    this.#closed = true;
    for (const { reader } of [...this.#waiting]) reader.error(engineClosed());
    this.#cache.close();
  }

  #advance(): void {
    if (this.#closed) return;
    this.#compileNext();
    for (const waiting of this.#waiting) {
      const matcher = this.#waiting.includes(waiting) ? this.#open(waiting.key) : undefined;
      if (matcher === undefined) continue;
      // Before it is told, for it may let go of the matcher at once.
      this.#leave(waiting);
      give(waiting.reader, matcher);
    }
  }

  /** Begins to compile what is waited for, in the order in which it was asked for, as far as there is room. */
  #compileNext(): void {
    const retiring = this.#retiring;
    this.#retiring = undefined;
    const isKept = (key: string) => key !== retiring && this.#isAwaited(key);
    for (const waiting of this.#waiting) {
      if (this.#cache.has(waiting.key)) continue;
      if (this.#cache.isBusy) return;
      if (!this.#cache.makeRoom(isKept)) {
        this.#retiring = this.#cache.oldestInUse;
        return;
      }
      void this.#compile(waiting);
    }
  }

  async #compile({ key, source }: Waiting): Promise<void> {
    try {
      await this.#cache.compile(key, source);
    } catch (error) {
      for (const { reader } of this.#waiting.filter((one) => one.key === key)) reader.error(error);
    }
    this.#advance();
    this.#cache.startAhead();
  }

  /** Undefined where the grammar is not there to be given. */
  #open(key: string): GrammarMatcher | undefined {
    return key === this.#retiring ? undefined : this.#cache.open(key, () => this.#advance());
  }

  #leave(waiting: Waiting): void {
    this.#waiting = this.#waiting.filter((one) => one !== waiting);
  }

  #isAwaited(key: string): boolean {
    return this.#waiting.some((one) => one.key === key);
  }
}

function give(reader: Subscriber<GrammarMatcher>, matcher: GrammarMatcher): void {
  reader.next(matcher);
  reader.complete();
}

function queueFull(waiting: number): RxllmError {
  return new RxllmError('RXLLM_QUEUE_FULL', `${waiting} requests wait for their grammars. Try again later.`);
}
