import type { ModelConfig } from '../contracts/index.ts';

const BYTES_PER_FLOAT = 4;
export const BYTES_PER_MIB = 2 ** 20;

/** Bytes that one token's keys and values take in the cache, all layers together, float32. */
export function kvBytesPerToken({ layers, kvHeads, headDim }: ModelConfig): number {
  return 2 * layers * kvHeads * headDim * BYTES_PER_FLOAT;
}
