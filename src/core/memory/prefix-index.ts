import type { BlockId, TokenId } from '../contracts/index.ts';

/** A full block that can be found. */
export interface Entry {
  readonly key: number;
  readonly block: BlockId;
  readonly tokens: readonly TokenId[];
  readonly parent: Parent;
}

/** The entry of the block before it, or the salt: so an entry stands for one prefix, whatever its key. */
export type Parent = Entry | string;

/** The full blocks that can be found: a block is in it once at most, and under one key. */
export class PrefixIndex {
  readonly #byKey = new Map<number, Entry>();
  readonly #byBlock: (Entry | undefined)[];

  constructor(blocks: number) {
    this.#byBlock = new Array<Entry | undefined>(blocks).fill(undefined);
  }

  /** The entry behind `parent` that holds the tokens from `start` on; one that only has the same key is none. */
  find(key: number, parent: Parent, tokens: readonly TokenId[], start: number): Entry | undefined {
    const entry = this.#byKey.get(key);
    return entry?.parent === parent && matches(entry, tokens, start) ? entry : undefined;
  }

  /** In place of what its block held, and of what had its key. */
  add(entry: Entry): void {
    const known = this.#byKey.get(entry.key);
    // A collision, or an entry whose parent is gone: the newer one is more likely to be asked for.
    if (known !== undefined) this.forget(known.block);
    this.forget(entry.block);
    this.#byKey.set(entry.key, entry);
    this.#byBlock[entry.block] = entry;
  }

  has(block: BlockId): boolean {
    return this.#byBlock[block] !== undefined;
  }

  forget(block: BlockId): void {
    const entry = this.#byBlock[block];
    if (entry === undefined) return;
    this.#byKey.delete(entry.key);
    this.#byBlock[block] = undefined;
  }

  /** With all its ancestors. */
  isFindable(prefix: Parent): boolean {
    for (let at = prefix; typeof at !== 'string'; at = at.parent) {
      if (this.#byBlock[at.block] !== at) return false;
    }
    return true;
  }

  /** Whether the block, if it can be found, is so by the tokens from `start` on. */
  agreesWith(block: BlockId, tokens: readonly TokenId[], start: number): boolean {
    const entry = this.#byBlock[block];
    return entry === undefined || matches(entry, tokens, start);
  }

  /** @throws Error when an entry is under another key or block than its own. */
  checkInvariants(): void {
    for (const [key, entry] of this.#byKey) {
      if (entry.key !== key || this.#byBlock[entry.block] !== entry) {
        throw new Error(`The entry of key ${key} is not that of block ${entry.block}.`);
      }
    }
  }
}

function matches({ tokens }: Entry, others: readonly TokenId[], start: number): boolean {
  for (let i = 0; i < tokens.length; i++) if (tokens[i] !== others[start + i]) return false;
  return true;
}
