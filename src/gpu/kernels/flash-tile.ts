import { RxllmError } from '../../core/errors.ts';

export interface FlashTile {
  /** Queries a workgroup. */
  readonly queryTile: number;
  /** Keys a turn; `headDim` is a multiple of it. */
  readonly keyTile: number;
  /** Queries a thread: 4 or 8. */
  readonly threadQueries: number;
}

const QUERY_TILES = [64, 32, 16, 8, 4];
const LARGEST_KEY_TILE = 64;

/**
 * The tile with the most scores that `workgroupBytes` of workgroup memory hold: 64 × 64 in 48 KiB and 64 × 32 in 32 KiB
 * where `headDim` is 64. Of two alike the one with more queries, as keys are loaded once for all of a tile.
 * @throws RxllmError `RXLLM_KERNEL_INVALID` where none fits
 */
export function flashTile(headDim: number, workgroupBytes: number): FlashTile {
  let best: FlashTile | undefined;
  for (const queryTile of QUERY_TILES) {
    for (let keyTile = LARGEST_KEY_TILE; keyTile >= 4; keyTile -= 4) {
      const tile = { queryTile, keyTile, threadQueries: 4 };
      if (headDim % keyTile !== 0 || flashBytes(headDim, tile) > workgroupBytes) continue;
      if (best === undefined || queryTile * keyTile > best.queryTile * best.keyTile) best = tile;
    }
  }
  if (best !== undefined) return best;
  const message = `flash attention has no tile for headDim ${headDim} in ${workgroupBytes} bytes of workgroup memory`;
  throw new RxllmError('RXLLM_KERNEL_INVALID', message);
}

/** Of workgroup memory: q, then k and v by turns in one place, and the weights, in float32. */
export function flashBytes(headDim: number, { queryTile, keyTile }: FlashTile): number {
  return Float32Array.BYTES_PER_ELEMENT * (headDim * queryTile + keyTile * headDim + keyTile * queryTile);
}
