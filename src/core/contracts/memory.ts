import type { EngineOptions } from './engine.ts';
import type { Model } from './model.ts';
import type { SequenceId } from './request.ts';
import type { Sequence } from './step.ts';

export type BlockId = number;

/** Blocks reserved for a sequence, in the order of its tokens. */
export interface Reservation {
  readonly blocks: readonly BlockId[];
  /** To be carried out before the next forward pass: a block that is shared is copied for who writes to it. */
  readonly copies?: readonly BlockCopy[];
}

/** The content of a whole block, in every layer. */
export interface BlockCopy {
  readonly from: BlockId;
  readonly to: BlockId;
}

/** In tokens, since the engine was made. */
export interface PrefixCacheStats {
  /** Of sequences that were admitted, and so looked for in the cache. */
  readonly queries: number;
  /** Of those, found. */
  readonly hits: number;
}

/**
 * How keys and values lie in memory: not at all, one full-length region a sequence, or blocks found through a table.
 * The graph that the model slot authors follows it.
 */
export type KvLayout = 'none' | 'contiguous' | 'paged';

/** The pool a runner holds, per layer and for keys and values each: `[blocks, kvHeads, blockSize, headDim]`, float32. */
export interface KvPool {
  readonly layout: KvLayout;
  /** Under `paged` block 0 takes the writes of padding and is never given out. */
  readonly blocks: number;
  /** Tokens a block; under `contiguous` the longest sequence. */
  readonly blockSize: number;
}

/** Who holds which blocks. */
export interface KvSnapshot {
  /** Of the sequences that hold any; a block that stands in several is shared. */
  readonly tables: ReadonlyMap<SequenceId, readonly BlockId[]>;
  /** Free blocks whose content can still be found, the next to be overwritten first. */
  readonly cached: readonly BlockId[];
}

/** noCache (chapters 2, 3) · contiguousSlots (4 to 9) · pagedBlocks (10) · prefixCached (11). */
export interface KvAllocator {
  readonly pool: KvPool;
  /** Blocks that can be given out, and those that are. */
  readonly total: number;
  readonly used: number;
  /** The longest sequence, in tokens, that fits when it is alone. */
  readonly maxSequenceTokens: number;
  readonly prefixCache: PrefixCacheStats;
  /**
   * Tokens of a sequence without blocks whose keys and values are in memory already: of the request it was forked from,
   * or of an equal prefix. At most all but one, so that the last one's logits are computed.
   */
  cachedTokens(sequence: Sequence): number;
  /**
   * Room for `newTokens` more, or undefined: nothing was taken. For a sequence without blocks it begins with what
   * `cachedTokens` counts, sharing those blocks, and sets `computed` and `cached`.
   */
  reserve(sequence: Sequence, newTokens: number): Reservation | undefined;
  /** Drop what lies past `length` tokens (rejected drafts). */
  truncate(sequence: Sequence, length: number): void;
  free(sequence: Sequence): void;
  /** Make full blocks findable; called when a step settles, for accepted tokens only. */
  publish(sequence: Sequence): void;
  /** A copy, for people to look at. */
  snapshot(): KvSnapshot;
  /** @throws Error when the books do not balance; for tests. */
  checkInvariants(): void;
}

export type KvSlot = (model: Model, options: EngineOptions) => KvAllocator;
