import type {
  BlockId,
  EngineOptions,
  KvAllocator,
  KvPool,
  KvSlot,
  KvSnapshot,
  PrefixCacheStats,
  Reservation,
  Sequence,
} from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { blocksThatFit, checkBlocks } from './block-count.ts';
import { BlockPool } from './block-pool.ts';
import { checkCount } from './check-size.ts';
import { NO_PREFIX_CACHE } from './no-cache.ts';

export interface PagedBlocksOptions {
  /** Tokens a block. Default: the engine's. */
  readonly blockSize?: number;
  /** Blocks of the pool, the trash block among them; absent: what `kvCacheMemoryMiB` holds and can be of use. */
  readonly blocks?: number;
}

/**
 * Blocks of `blockSize` tokens that a sequence takes as it grows, found through its block table (PagedAttention, Kwon et
 * al., 2023): what a sequence wastes is less than a block, whatever `maxModelLen` is. Forked sequences share the blocks
 * of their prompt, and one that writes to a shared block gets a copy of it first.
 * @throws RxllmError `RXLLM_OPTION_INVALID` when not even one block fits, or there is less memory than they take.
 */
export function pagedBlocks({ blocks, ...given }: PagedBlocksOptions = {}): KvSlot {
  return (model, options) => {
    const { blockSize = options.blockSize } = given;
    checkCount('blockSize', blockSize, 1);
    const useful = 1 + options.maxNumSeqs * Math.ceil(options.maxModelLen / blockSize);
    const fitting = blocks ?? Math.min(useful, blocksThatFit(model, options, blockSize));
    checkBlocks(fitting, blockSize, model, blocks === undefined ? 'kvCacheMemoryMiB' : 'blocks');
    return new PagedBlocks(fitting, blockSize, options);
  };
}

/** The beginning of a sequence that is in memory already. */
export interface Found {
  readonly tokens: number;
  /** They hold the tokens; the last one perhaps more than them. */
  readonly blocks: readonly BlockId[];
}

const NOTHING: Found = { tokens: 0, blocks: [] };

export class PagedBlocks implements KvAllocator {
  readonly pool: KvPool;
  readonly maxSequenceTokens: number;
  protected readonly blocks: BlockPool;
  protected readonly holders = new Set<Sequence>();

  constructor(blocks: number, blockSize: number, { maxModelLen }: EngineOptions) {
    this.pool = { layout: 'paged', blocks, blockSize };
    this.blocks = new BlockPool(blocks, (block) => this.forget(block));
    this.maxSequenceTokens = Math.min(maxModelLen, this.total * blockSize);
  }

  get total(): number {
    return this.blocks.total;
  }

  get used(): number {
    return this.blocks.used;
  }

  get prefixCache(): PrefixCacheStats {
    return NO_PREFIX_CACHE;
  }

  cachedTokens(sequence: Sequence): number {
    return sequence.blocks.length > 0 ? 0 : this.find(sequence).tokens;
  }

  /** @throws RxllmError `RXLLM_CONTEXT_LENGTH_EXCEEDED` when the sequence would outgrow the pool. */
  reserve(sequence: Sequence, newTokens: number): Reservation | undefined {
    const found = sequence.blocks.length > 0 ? undefined : this.find(sequence);
    const computed = found?.tokens ?? sequence.computed;
    const held = found?.blocks ?? sequence.blocks;
    const length = computed + newTokens;
    if (length > this.maxSequenceTokens) throw this.#tooLong(sequence, length);
    // Only the block that the first new token goes to can hold tokens of others: those after it were never shared.
    const at = Math.floor(computed / this.pool.blockSize);
    const shared = held[at];
    const isCopied = shared !== undefined && (found !== undefined || this.blocks.references(shared) > 1);
    const missing = this.blocksFor(length) - held.length + (isCopied ? 1 : 0);
    if (missing > 0 && missing > this.blocks.freeWithout(found?.blocks ?? [])) return undefined;
    if (found !== undefined) this.begin(sequence, found);
    if (missing <= 0) return { blocks: [...sequence.blocks] };
    const taken = this.blocks.take(missing);
    if (!isCopied) {
      sequence.blocks.push(...taken);
      return { blocks: [...sequence.blocks] };
    }
    const [copy, ...more] = taken;
    sequence.blocks[at] = copy!;
    sequence.blocks.push(...more);
    this.blocks.release([shared]);
    return { blocks: [...sequence.blocks], copies: [{ from: shared, to: copy! }] };
  }

  truncate(sequence: Sequence, length: number): void {
    this.blocks.release(sequence.blocks.splice(this.blocksFor(length)));
  }

  free(sequence: Sequence): void {
    this.blocks.release(sequence.blocks.splice(0));
    this.holders.delete(sequence);
  }

  publish(_sequence: Sequence): void {}

  snapshot(): KvSnapshot {
    const tables = new Map(Array.from(this.holders, ({ id, blocks }) => [id, [...blocks]]));
    return { tables, cached: this.blocks.freeOrder().filter((block) => this.isKnown(block)) };
  }

  checkInvariants(): void {
    this.blocks.checkInvariants(Array.from(this.holders, ({ blocks }) => blocks));
    for (const { id, blocks, computed } of this.holders) {
      const needed = this.blocksFor(computed);
      if (blocks.length >= needed) continue;
      throw new Error(`Sequence ${id} has ${computed} tokens in the cache and ${blocks.length} blocks, not ${needed}.`);
    }
  }

  /** What the prompt of a forked sequence's parent holds; all but the last token, whose logits are still to come. */
  protected find({ parent, tokens }: Sequence): Found {
    if (parent === undefined) return NOTHING;
    const shared = Math.min(parent.computed, parent.promptLength, tokens.length - 1);
    const blocks = parent.blocks.slice(0, this.blocksFor(shared));
    return blocks.length > 0 ? { tokens: shared, blocks } : NOTHING;
  }

  /** The first blocks of a sequence, shared with others. */
  protected begin(sequence: Sequence, { tokens, blocks }: Found): void {
    this.blocks.share(blocks);
    sequence.blocks.push(...blocks);
    sequence.computed = tokens;
    sequence.cached = Math.min(tokens, sequence.promptLength);
    this.holders.add(sequence);
  }

  /** Its content can be found. */
  protected isKnown(_block: BlockId): boolean {
    return false;
  }

  /** The block is about to be overwritten. */
  protected forget(_block: BlockId): void {}

  protected blocksFor(tokens: number): number {
    return Math.ceil(tokens / this.pool.blockSize);
  }

  #tooLong({ id }: Sequence, length: number): RxllmError {
    return new RxllmError(
      'RXLLM_CONTEXT_LENGTH_EXCEEDED',
      `Sequence ${id} would be ${length} tokens long, but at most ${this.maxSequenceTokens} fit. ` +
        'Shorten the prompt, ask for fewer tokens, or raise maxModelLen and kvCacheMemoryMiB.',
    );
  }
}
