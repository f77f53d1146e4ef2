import type { KvSlot } from '../contracts/index.ts';

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
    reserve: () => ({ blocks: [] }),
    truncate() {},
    free() {},
    fork() {},
    publish() {},
    checkInvariants() {},
  });
}
