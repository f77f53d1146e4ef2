/**
 * Names and shapes by which a runner and a graph know each other; every graph that a `ModelSlot` authors keeps them.
 *
 * All layouts: `ids [rows × width]` and `positions [rows, width]` of the new tokens, `logits_at [wanted]` (flat indices)
 * in, `logits [wanted, vocab]` out.
 *
 * `paged`: the pools have a (block, head) pair in each row, `[blocks × kvHeads, blockSize, headDim]`, so that one Gather by
 * `block_table [rows, kvHeads, blocks]`, which holds block × kvHeads + head, finds a head's keys without a transpose.
 * `slots [rows × width, kvHeads, 1, 2]` says where each new token's keys and values go: (block × kvHeads + head, offset)
 * in the pool when they are written in place, (row × kvHeads + head, position) in what was gathered when returned.
 *
 * `contiguous`: the pools are rows' regions, `[rows, kvHeads, region, headDim]`; `last_positions [rows]` (int32) is the position of each
 * row's last new token, `total_length [1]` (int32) the longest row's length, new tokens included.
 *
 * There is a pool a layer and side. In place, the output has the input's memory. Returned, `paged` gives
 * `new_kv [layers × 2, rows × width, kvHeads, headDim]`, and `contiguous` the whole updated regions.
 */
export const NAMES = {
  ids: 'ids',
  positions: 'positions',
  logitsAt: 'logits_at',
  logits: 'logits',
  blockTable: 'block_table',
  slots: 'slots',
  lastPositions: 'last_positions',
  totalLength: 'total_length',
  newKv: 'new_kv',
} as const;

export type KvSide = 'key' | 'value';
export const KV_SIDES: readonly KvSide[] = ['key', 'value'];

export const poolInput = (side: KvSide, layer: number) => `${side}_pool_${layer}`;
export const poolOutput = (side: KvSide, layer: number) => `${side}_pool_out_${layer}`;
