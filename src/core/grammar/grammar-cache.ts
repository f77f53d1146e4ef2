import type { GrammarMatcher } from '../contracts/index.ts';
import type { GrammarSource } from './grammar-source.ts';
import { GrammarThread } from './grammar-thread.ts';
import type { PackedVocabulary } from './thread-messages.ts';

export interface CacheLimits {
  /** Compiled grammars kept, a thread each; the one unused for longest makes room. */
  readonly capacity: number;
  /** Grammars compiled at once, and for how long, in milliseconds. */
  readonly maxCompiling: number;
  readonly compileMs: number;
}

interface Entry {
  readonly thread: GrammarThread;
  compiled: boolean;
  /** Texts that follow it now. */
  users: number;
}

/** The compiled grammars of one vocabulary, in the order in which they were used. */
export class GrammarCache {
  readonly #pack: () => PackedVocabulary;
  #vocabulary: PackedVocabulary | undefined;
  readonly #limits: CacheLimits;
  readonly #entries = new Map<string, Entry>();
  /** Started ahead, so that the next grammar need not wait for its thread. */
  #spare: GrammarThread | undefined;
  #closed = false;

  /** `pack` is asked for the vocabulary once, with the first grammar. */
  constructor(pack: () => PackedVocabulary, limits: CacheLimits) {
    this.#pack = pack;
    this.#limits = limits;
  }

  /** How many are compiled or being so. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether no more can be compiled now. */
  get isBusy(): boolean {
    return [...this.#entries.values()].filter(({ compiled }) => !compiled).length >= this.#limits.maxCompiling;
  }

  /** Of those that texts follow now the one that has been asked for least recently. */
  get oldestInUse(): string | undefined {
    return [...this.#entries].find(([, { users }]) => users > 0)?.[0];
  }

  /** Whether it is compiled or being so. */
  has(key: string): boolean {
    return this.#find(key) !== undefined;
  }

  /** A matcher at the beginning of a text; undefined where the grammar is not compiled. */
  open(key: string, onDispose: () => void): GrammarMatcher | undefined {
    const entry = this.#find(key);
    if (!entry?.compiled) return undefined;
    // A Map iterates in order of insertion: what is used goes to its end.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.users += 1;
    return entry.thread.matcher(() => {
      entry.users -= 1;
      onDispose();
    });
  }

  /** Whether there is a place for one more, once the oldest that is not in use, and not to be kept, has made room. */
  makeRoom(isKept: (key: string) => boolean): boolean {
    if (this.#entries.size < this.#limits.capacity) return true;
    const idle = [...this.#entries].find(([key, { users, compiled }]) => users === 0 && compiled && !isKept(key));
    if (idle === undefined) return false;
    this.#drop(...idle);
    return true;
  }

  /** Resolves when it is compiled or was cancelled. Rejects with `RXLLM_GRAMMAR_INVALID`, `RXLLM_GRAMMAR_TOO_LARGE`. */
  async compile(key: string, source: GrammarSource): Promise<void> {
    const entry: Entry = { thread: this.#spare ?? this.#start(), compiled: false, users: 0 };
    this.#spare = undefined;
    this.#entries.set(key, entry);
    try {
      await entry.thread.compile(source, this.#limits.compileMs);
      entry.compiled = true;
    } catch (error) {
      // Another may have its key by now.
      if (this.#entries.get(key) !== entry) return;
      this.#drop(key, entry);
      throw error;
    } finally {
      if (this.#closed) entry.thread.terminate();
    }
  }

  /** Ends what is being compiled; what is compiled stays. Returns whether there was anything to end. */
  cancel(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.compiled) return false;
    this.#drop(key, entry);
    return true;
  }

  /** Starts the next grammar's thread ahead. */
  startAhead(): void {
    if (!this.#closed) this.#spare ??= this.#start();
  }

  /** Ends every thread. */
  close(): void {
    this.#closed = true;
    for (const [key, entry] of this.#entries) this.#drop(key, entry);
    this.#spare?.terminate();
    this.#spare = undefined;
  }

  #find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (!entry?.compiled || !entry.thread.isBroken) return entry;
    this.#drop(key, entry);
    return undefined;
  }

  #start(): GrammarThread {
    this.#vocabulary ??= this.#pack();
    return new GrammarThread(this.#vocabulary);
  }

  #drop(key: string, { thread }: Entry): void {
    this.#entries.delete(key);
    thread.terminate();
  }
}
