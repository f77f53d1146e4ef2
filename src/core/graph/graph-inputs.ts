/**
 * Names and shapes by which a runner and a graph know each other; every graph that a `ModelSlot` authors keeps them.
 *
 * All layouts: `ids [rows × width]` and `positions [rows, width]` of the new tokens, `logits_at [wanted]` (flat indices)
 * in, `logits [wanted, vocab]` out.
 *
 * `paged`: `block_table [rows, kvHeads, blocks]` holds block × kvHeads + head, so that one Gather finds the keys of a head
 * without a transpose; `slots [rows, width, kvHeads, 3]` says where each new token's keys and values go: (block, head,
 * offset) in the pool when they are written in place, (row, head, position) in what was gathered when they are returned.
 *
 * `contiguous`: the pools hold one row's memory after the other, `last_positions [rows]` (int32) is the position of each
 * row's last new token, `total_length [1]` (int32) the longest row's length, new tokens included.
 *
 * Pools, a layer and side each: `[blocks, kvHeads, blockSize, headDim]`. In place, the output has the input's memory.
 * Returned, `paged` gives `new_kv [layers × 2, rows × width, kvHeads, headDim]`, and `contiguous` the whole updated pools.
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
