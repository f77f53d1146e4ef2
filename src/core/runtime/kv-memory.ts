import type { BlockCopy, KvPool, ModelConfig } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { KV_SIDES, type KvSide, poolInput, poolOutput } from '../graph/graph-inputs.ts';

/** One layer's keys or values. */
export interface PoolPart {
  readonly input: string;
  readonly output: string;
  /** `[blocks, kvHeads, blockSize, headDim]` */
  readonly data: Float32Array;
}

/** The shape by which the graph knows the memory of so many blocks (see `NAMES`). */
export function graphPoolShape(
  { layout, blockSize }: KvPool,
  { kvHeads, headDim }: ModelConfig,
  blocks: number,
): number[] {
  return layout === 'paged' ? [blocks * kvHeads, blockSize, headDim] : [blocks, kvHeads, blockSize, headDim];
}

/**
 * The memory of the pool: layer 0's keys and values, then layer 1's, and so on; none where nothing is cached.
 * @throws RxllmError `RXLLM_OPTION_INVALID` when it cannot be had
 */
export function allocatePool(pool: KvPool, { layers, kvHeads, headDim }: ModelConfig): readonly PoolPart[] {
  if (pool.layout === 'none') return [];
  const size = pool.blocks * kvHeads * pool.blockSize * headDim;
  const part = (side: KvSide, layer: number): PoolPart => ({
    input: poolInput(side, layer),
    output: poolOutput(side, layer),
    data: new Float32Array(size),
  });
  try {
    return Array.from({ length: layers }, (_, layer) => KV_SIDES.map((side) => part(side, layer))).flat();
  } catch (cause) {
    const mebibytes = Math.ceil((size * Float32Array.BYTES_PER_ELEMENT * layers * KV_SIDES.length) / 2 ** 20);
    const message = `there is no memory for a KV cache of ${mebibytes} MiB; lower kvCacheMemoryMiB`;
    throw new RxllmError('RXLLM_OPTION_INVALID', message, { param: 'kvCacheMemoryMiB', cause });
  }
}

/** Carries out copies in the pool's memory, in order. */
export function copyBlocks(
  parts: readonly PoolPart[],
  copies: readonly BlockCopy[],
  { blockSize }: KvPool,
  { kvHeads, headDim }: ModelConfig,
): void {
  const length = kvHeads * blockSize * headDim;
  for (const { from, to } of copies) {
    for (const { data } of parts) data.copyWithin(to * length, from * length, (from + 1) * length);
  }
}
