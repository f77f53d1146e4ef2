/**
 * Decode attention over a paged cache: q and o `[sequences, heads, headDim]`; k and v pools `[blocks, kvHeads, blockSize,
 * headDim]`, as the engine's; `tables` `[sequences, tableWidth]`, which block holds tokens 0 … blockSize − 1 and so on;
 * `lengths` `[sequences]`, at least 1.
 */
export interface PagedShape {
  readonly sequences: number;
  readonly heads: number;
  readonly kvHeads: number;
  /** A multiple of 4. */
  readonly headDim: number;
  readonly blockSize: number;
  /** Blocks of the longest sequence at most. */
  readonly tableWidth: number;
  /** Tokens a workgroup: a long sequence is shared between several, whose parts are merged. Default 512. */
  readonly partition?: number;
}

export const DEFAULT_PARTITION = 512;

/** Of the longest sequence. */
export const partitionsOf = ({ blockSize, tableWidth, partition = DEFAULT_PARTITION }: PagedShape): number =>
  Math.ceil((blockSize * tableWidth) / partition);

/** Bytes between the two kernels: per query head and partition a weighted sum of values, and its maximum and sum. */
export function partialBytes(shape: PagedShape): { readonly outputs: number; readonly sums: number } {
  const parts = shape.sequences * shape.heads * partitionsOf(shape);
  return { outputs: parts * shape.headDim * 4, sums: parts * 2 * 4 };
}
