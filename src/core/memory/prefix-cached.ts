import type { BlockId, EngineOptions, KvSlot, PrefixCacheStats, Sequence } from '../contracts/index.ts';
import { blocksThatFit, checkBlocks } from './block-count.ts';
import { type BlockHash, blockHash } from './block-hash.ts';
import { checkCount } from './check-size.ts';
import { type Found, PagedBlocks, type PagedBlocksOptions } from './paged-blocks.ts';
import { type Entry, type Parent, PrefixIndex } from './prefix-index.ts';

export interface PrefixCachedOptions extends PagedBlocksOptions {
  /** Default: `blockHash`. */
  readonly hash?: BlockHash;
}

/**
 * Paged blocks that are found again: a full block is known by its tokens and all before them, so that a sequence which
 * begins like an earlier one shares its blocks (vLLM's automatic prefix caching). A block keeps what it holds when it is
 * given back, until the least recently used one is needed; a sequence's tail is before its head in that order, so that
 * leaves go first. Takes all of `kvCacheMemoryMiB`, unless `blocks` says otherwise.
 * @throws RxllmError `RXLLM_OPTION_INVALID` when not even one block fits, or there is less memory than they take.
 */
export function prefixCached({ blocks, hash = blockHash, ...given }: PrefixCachedOptions = {}): KvSlot {
  return (model, options) => {
    const { blockSize = options.blockSize } = given;
    checkCount('blockSize', blockSize, 1);
    const fitting = blocks ?? blocksThatFit(model, options, blockSize);
    checkBlocks(fitting, blockSize, model, blocks === undefined ? 'kvCacheMemoryMiB' : 'blocks');
    return new PrefixCached(fitting, blockSize, options, hash);
  };
}

/** What is known of a sequence's full blocks. */
interface Chain {
  /** Of its blocks from the first, as far as they were needed. */
  readonly keys: number[];
  /** So many of its blocks have been published, the last of them as `last`. */
  published: number;
  last: Parent;
}

class PrefixCached extends PagedBlocks {
  readonly #hash: BlockHash;
  readonly #index: PrefixIndex;
  readonly #chains = new WeakMap<Sequence, Chain>();
  #stats: PrefixCacheStats = { queries: 0, hits: 0 };

  constructor(blocks: number, blockSize: number, options: EngineOptions, hash: BlockHash) {
    super(blocks, blockSize, options);
    this.#hash = hash;
    this.#index = new PrefixIndex(blocks);
  }

  override get prefixCache(): PrefixCacheStats {
    return this.#stats;
  }

  override publish(sequence: Sequence): void {
    const full = Math.floor(sequence.computed / this.pool.blockSize);
    const chain = this.#chainOf(sequence);
    if (full <= chain.published) return;
    // A twin's block stood for one of its own, and is gone: what follows could not be found any more.
    if (!this.#index.isFindable(chain.last)) restart(chain, sequence);
    for (; chain.published < full; chain.published++) chain.last = this.#enter(sequence, chain);
  }

  override truncate(sequence: Sequence, length: number): void {
    super.truncate(sequence, length);
    const full = Math.floor(length / this.pool.blockSize);
    const chain = this.#chainOf(sequence);
    if (chain.published <= full) return;
    const partial = sequence.blocks[full];
    if (partial !== undefined) this.forget(partial);
    chain.keys.splice(full);
    restart(chain, sequence);
  }

  override checkInvariants(): void {
    super.checkInvariants();
    this.#index.checkInvariants();
    for (const { id, tokens, blocks, computed } of this.holders) {
      blocks.forEach((block, i) => {
        const start = i * this.pool.blockSize;
        if (this.#index.agreesWith(block, tokens.slice(0, computed), start)) return;
        throw new Error(`Block ${block} can be found by other tokens than sequence ${id} has in it.`);
      });
    }
  }

  protected override find(sequence: Sequence): Found {
    const forked = super.find(sequence);
    const { blockSize } = this.pool;
    const { blocks } = this.#walk(sequence, Math.floor((sequence.tokens.length - 1) / blockSize));
    return forked.tokens >= blocks.length * blockSize ? forked : { tokens: blocks.length * blockSize, blocks };
  }

  protected override begin(sequence: Sequence, found: Found): void {
    super.begin(sequence, found);
    const chain = this.#chainOf(sequence);
    const { blocks, last } = this.#walk(sequence, Math.floor(found.tokens / this.pool.blockSize));
    chain.published = blocks.length;
    chain.last = last;
    const { queries, hits } = this.#stats;
    this.#stats = { queries: queries + sequence.tokens.length, hits: hits + found.tokens };
  }

  protected override isKnown(block: BlockId): boolean {
    return this.#index.has(block);
  }

  protected override forget(block: BlockId): void {
    this.#index.forget(block);
  }

  /** The longest chain of entries, at most so many, that spells the sequence's tokens from the first. */
  #walk(sequence: Sequence, most: number): { blocks: BlockId[]; last: Parent } {
    const chain = this.#chainOf(sequence);
    const blocks: BlockId[] = [];
    let last: Parent = saltOf(sequence);
    while (blocks.length < most) {
      const key = this.#key(sequence, chain, blocks.length);
      const entry = this.#index.find(key, last, sequence.tokens, blocks.length * this.pool.blockSize);
      if (entry === undefined) break;
      blocks.push(entry.block);
      last = entry;
    }
    return { blocks, last };
  }

  /** Makes the next block findable; where an equal one is already, that one stands for it. */
  #enter(sequence: Sequence, chain: Chain): Entry {
    const { blockSize } = this.pool;
    const index = chain.published;
    const start = index * blockSize;
    const key = this.#key(sequence, chain, index);
    const known = this.#index.find(key, chain.last, sequence.tokens, start);
    if (known !== undefined) return known;
    const tokens = sequence.tokens.slice(start, start + blockSize);
    const entry = { key, block: sequence.blocks[index]!, tokens, parent: chain.last };
    this.#index.add(entry);
    return entry;
  }

  #key(sequence: Sequence, { keys }: Chain, index: number): number {
    const { blockSize } = this.pool;
    for (let i = keys.length; i <= index; i++) {
      const parent = keys[i - 1] ?? this.#saltKey(sequence);
      keys.push(this.#hash(parent, sequence.tokens, i * blockSize, (i + 1) * blockSize));
    }
    return keys[index]!;
  }

  #saltKey(sequence: Sequence): number {
    const salt = Array.from(saltOf(sequence), (character) => character.codePointAt(0)!);
    return this.#hash(0, salt, 0, salt.length);
  }

  #chainOf(sequence: Sequence): Chain {
    let chain = this.#chains.get(sequence);
    if (chain === undefined) {
      chain = { keys: [], published: 0, last: saltOf(sequence) };
      this.#chains.set(sequence, chain);
    }
    return chain;
  }
}

const saltOf = ({ request }: Sequence): string => request.cacheSalt ?? '';

function restart(chain: Chain, sequence: Sequence): void {
  chain.published = 0;
  chain.last = saltOf(sequence);
}
