import { Observable, type Subscriber } from 'rxjs';
import type { GrammarMatcher } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import type { GrammarSource } from './grammar-source.ts';
import { GrammarThread } from './grammar-thread.ts';
import type { PackedVocabulary } from './thread-messages.ts';

export interface GrammarLimits {
  /** Compiled grammars kept, a thread each; the one unused for longest makes room. */
  readonly capacity: number;
  /** Texts that wait for a grammar; one more is refused. */
  readonly maxWaiting: number;
  /** Grammars compiled at once, and for how long, in milliseconds. */
  readonly maxCompiling: number;
  readonly compileMs: number;
}

export const GRAMMAR_LIMITS: GrammarLimits = { capacity: 16, maxWaiting: 64, maxCompiling: 2, compileMs: 10_000 };

interface Entry {
  readonly thread: GrammarThread;
  compiled: boolean;
  /** Texts that follow it now. */
  users: number;
}

interface Waiting {
  readonly key: string;
  readonly source: GrammarSource;
  readonly reader: Subscriber<GrammarMatcher>;
}

/** The compiled grammars of one vocabulary, in the order in which they were used. */
export class Grammars {
  readonly #pack: () => PackedVocabulary;
  #vocabulary: PackedVocabulary | undefined;
  readonly #limits: GrammarLimits;
  readonly #entries = new Map<string, Entry>();
  #waiting: Waiting[] = [];
  /** Started ahead, so that the next grammar need not wait for its thread. */
  #spare: GrammarThread | undefined;
  #closed = false;

  /** `pack` is asked for the vocabulary once, with the first grammar. */
  constructor(pack: () => PackedVocabulary, limits: Partial<GrammarLimits> = {}) {
    this.#pack = pack;
    this.#limits = { ...GRAMMAR_LIMITS, ...limits };
  }

  /** How many are compiled or being so. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * A matcher at the beginning of a text, once the grammar is compiled; it must be disposed of. Cold; emits once.
   * Errors with `RXLLM_GRAMMAR_INVALID`, `RXLLM_GRAMMAR_TOO_LARGE`, `RXLLM_QUEUE_FULL`, `RXLLM_ENGINE_CLOSED`.
   */
  matcher(source: GrammarSource): Observable<GrammarMatcher> {
    return new Observable((reader) => {
      if (this.#closed) return reader.error(closedError());
      if (this.#waiting.length >= this.#limits.maxWaiting) return reader.error(queueFull(this.#waiting.length));
      const waiting: Waiting = { key: JSON.stringify(source), source, reader };
      this.#waiting.push(waiting);
      reader.add(() => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        this.#endUnawaited(waiting.key);
      });
      this.#advance();
      return undefined;
    });
  }

  /** Ends every thread; who waits hears `RXLLM_ENGINE_CLOSED`. */
  close(): void {
    this.#closed = true;
    for (const { reader } of [...this.#waiting]) reader.error(closedError());
    for (const { thread } of this.#entries.values()) thread.terminate();
    this.#entries.clear();
    this.#spare?.terminate();
    this.#spare = undefined;
  }

  /** Serves those who wait, in the order in which they came, as far as there are grammars and room for new ones. */
  #advance(): void {
    if (this.#closed) return;
    for (const waiting of this.#waiting) {
      if (waiting.reader.closed) continue;
      const entry = this.#find(waiting.key);
      if (entry === undefined) {
        if (this.#compiling < this.#limits.maxCompiling && this.#makeRoom()) void this.#compile(waiting);
      } else if (entry.compiled) {
        this.#give(waiting, entry);
      }
    }
  }

  get #compiling(): number {
    return [...this.#entries.values()].filter(({ compiled }) => !compiled).length;
  }

  /** What is compiled for nobody, since all who waited for it have left, makes room for others. */
  #endUnawaited(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.compiled || this.#waiting.some((one) => one.key === key)) return;
    this.#drop(key, entry);
    this.#advance();
  }

  #find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (!entry?.compiled || !entry.thread.isBroken) return entry;
    this.#drop(key, entry);
    return undefined;
  }

  #give({ key, reader }: Waiting, entry: Entry): void {
    // A Map iterates in order of insertion: what is used goes to its end.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.users += 1;
    reader.next(
      entry.thread.matcher(() => {
        entry.users -= 1;
        this.#advance();
      }),
    );
    reader.complete();
  }

  async #compile({ key, source }: Waiting): Promise<void> {
    const entry: Entry = { thread: this.#spare ?? this.#start(), compiled: false, users: 0 };
    this.#spare = undefined;
    this.#entries.set(key, entry);
    try {
      await entry.thread.compile(source, this.#limits.compileMs);
      entry.compiled = true;
    } catch (error) {
      // Dropped already where nobody waits any more; whoever has come since then waits for another one.
      if (this.#entries.get(key) === entry) {
        this.#drop(key, entry);
        for (const { reader } of this.#waiting.filter((one) => one.key === key)) reader.error(error);
      }
    }
    if (this.#closed) return entry.thread.terminate();
    this.#advance();
    this.#spare ??= this.#start();
  }

  #start(): GrammarThread {
    this.#vocabulary ??= this.#pack();
    return new GrammarThread(this.#vocabulary);
  }

  #makeRoom(): boolean {
    if (this.#entries.size < this.#limits.capacity) return true;
    const idle = [...this.#entries].find(([, { users, compiled }]) => users === 0 && compiled);
    if (idle === undefined) return false;
    this.#drop(...idle);
    return true;
  }

  #drop(key: string, { thread }: Entry): void {
    this.#entries.delete(key);
    thread.terminate();
  }
}

function queueFull(waiting: number): RxllmError {
  return new RxllmError('RXLLM_QUEUE_FULL', `${waiting} requests wait for their grammars. Try again later.`);
}

function closedError(): RxllmError {
  return new RxllmError('RXLLM_ENGINE_CLOSED', 'The engine is closed; start another.');
}
