import type { KvSlot, PrefixCacheStats } from '../contracts/index.ts';

/** Of an allocator that shares nothing. */
export const NO_PREFIX_CACHE: PrefixCacheStats = { queries: 0, hits: 0 };

/**
 * Keeps no keys and values: every step runs the whole sequence again, so there is always room.
 * What chapters 2 and 3 do, and why decode slows down with length.
 */
export function noCache(): KvSlot {
  return (_model, options) => ({
    pool: { layout: 'none', blocks: 0, blockSize: 0 },
    total: 0,
    used: 0,
    maxSequenceTokens: options.maxModelLen,
    prefixCache: NO_PREFIX_CACHE,
    cachedTokens: () => 0,
    reserve: () => ({ blocks: [] }),
    truncate() {},
    free() {},
    publish() {},
    snapshot: () => ({ tables: new Map(), cached: [] }),
    checkInvariants() {},
  });
}
