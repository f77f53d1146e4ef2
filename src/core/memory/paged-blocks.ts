import type { EngineOptions, KvAllocator, KvPool, KvSlot, Model, Reservation, Sequence } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { BlockPool } from './block-pool.ts';
import { BYTES_PER_MIB, kvBytesPerToken } from './kv-bytes.ts';

export interface PagedBlocksOptions {
  /** Tokens a block. Default: 16. */
  readonly blockSize?: number;
  /** Blocks of the pool, the trash block among them; absent: what `kvCacheMemoryMiB` holds and can be of use. */
  readonly blocks?: number;
}

/**
 * Blocks of `blockSize` tokens that a sequence takes as it grows, found through its block table (PagedAttention, Kwon et
 * al., 2023): what a sequence wastes is less than a block, whatever `maxModelLen` is.
 * @throws RxllmError `RXLLM_OPTION_INVALID` when not even one block fits.
 */
export function pagedBlocks({ blockSize = 16, blocks }: PagedBlocksOptions = {}): KvSlot {
  return (model, options) => {
    checkCount('blockSize', blockSize, 1);
    const useful = 1 + options.maxNumSeqs * Math.ceil(options.maxModelLen / blockSize);
    return new PagedBlocks(blocks ?? Math.min(useful, blocksThatFit(model, options, blockSize)), blockSize, options);
  };
}

function blocksThatFit({ config }: Model, { kvCacheMemoryMiB }: EngineOptions, blockSize: number): number {
  const bytesPerBlock = kvBytesPerToken(config) * blockSize;
  const blocks = Math.floor((kvCacheMemoryMiB * BYTES_PER_MIB) / bytesPerBlock);
  if (blocks >= 2) return blocks;
  throw new RxllmError(
    'RXLLM_OPTION_INVALID',
    `kvCacheMemoryMiB ${kvCacheMemoryMiB} is too small: a block of ${blockSize} tokens and the one for padding need ` +
      `${Math.ceil((2 * bytesPerBlock) / BYTES_PER_MIB)} MiB. Raise kvCacheMemoryMiB or lower blockSize.`,
    { param: 'kvCacheMemoryMiB' },
  );
}

function checkCount(param: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new RxllmError('RXLLM_OPTION_INVALID', `${param} must be an integer of at least ${least}, not ${value}.`, {
    param,
  });
}

class PagedBlocks implements KvAllocator {
  readonly pool: KvPool;
  readonly maxSequenceTokens: number;
  readonly #blocks: BlockPool;
  readonly #holders = new Set<Sequence>();

  constructor(blocks: number, blockSize: number, { maxModelLen }: EngineOptions) {
    checkCount('blocks', blocks, 2);
    this.pool = { layout: 'paged', blocks, blockSize };
    this.#blocks = new BlockPool(blocks);
    this.maxSequenceTokens = Math.min(maxModelLen, this.total * blockSize);
  }

  get total(): number {
    return this.#blocks.total;
  }

  get used(): number {
    return this.#blocks.used;
  }

  /** @throws RxllmError `RXLLM_CONTEXT_LENGTH_EXCEEDED` when the sequence would outgrow the pool. */
  reserve(sequence: Sequence, newTokens: number): Reservation | undefined {
    const length = sequence.computed + newTokens;
    if (length > this.maxSequenceTokens) {
      throw new RxllmError(
        'RXLLM_CONTEXT_LENGTH_EXCEEDED',
        `Sequence ${sequence.id} would be ${length} tokens long, but at most ${this.maxSequenceTokens} fit. ` +
          'Shorten the prompt, ask for fewer tokens, or raise maxModelLen and kvCacheMemoryMiB.',
      );
    }
    const missing = this.#blocksFor(length) - sequence.blocks.length;
    if (missing > 0) {
      const taken = this.#blocks.take(missing);
      if (taken === undefined) return undefined;
      if (sequence.blocks.length === 0) sequence.cached = 0;
      sequence.blocks.push(...taken);
      this.#holders.add(sequence);
    }
    return { blocks: [...sequence.blocks] };
  }

  truncate(sequence: Sequence, length: number): void {
    this.#blocks.release(sequence.blocks.splice(this.#blocksFor(length)));
  }

  free(sequence: Sequence): void {
    this.#blocks.release(sequence.blocks.splice(0));
    this.#holders.delete(sequence);
  }

  fork(_parent: Sequence, _child: Sequence): void {
    throw new Error('not yet');
  }

  publish(): void {}

  checkInvariants(): void {
    this.#blocks.checkInvariants(Array.from(this.#holders, ({ blocks }) => blocks));
    for (const { id, blocks, computed } of this.#holders) {
      const needed = this.#blocksFor(computed);
      if (blocks.length >= needed) continue;
      throw new Error(`Sequence ${id} has ${computed} tokens in the cache and ${blocks.length} blocks, not ${needed}.`);
    }
  }

  #blocksFor(tokens: number): number {
    return Math.ceil(tokens / this.pool.blockSize);
  }
}
