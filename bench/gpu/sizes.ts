import type { AttentionShape, FlashTile, GemmShape, Int4Size, PagedShape, RegisterTile } from '../../src/gpu/index.ts';

export interface Sizes {
  /** Floats; a multiple of 4,096. */
  readonly copy: number;
  readonly gemm: GemmShape;
  readonly gemmTile: Partial<RegisterTile>;
  readonly gemmTiled: number;
  readonly softmax: { readonly rows: number; readonly columns: number };
  readonly attention: AttentionShape;
  readonly flashTile: Partial<FlashTile>;
  readonly paged: PagedShape;
  readonly int4: Int4Size;
}

/** `full` is much more than a GPU's caches hold; `quick` is for a CPU, which compiles large tiles for minutes. */
export const SIZES: Readonly<Record<'full' | 'quick', Sizes>> = {
  full: {
    copy: 2 ** 28,
    gemm: { m: 4096, n: 4096, k: 4096 },
    gemmTile: {},
    gemmTiled: 32,
    softmax: { rows: 8192, columns: 4096 },
    attention: { tokens: 4096, heads: 32, kvHeads: 8, headDim: 64 },
    flashTile: {},
    paged: { sequences: 64, heads: 32, kvHeads: 8, headDim: 64, blockSize: 16, tableWidth: 256 },
    int4: { rows: 32_768, columns: 16_384, groupSize: 32 },
  },
  quick: {
    copy: 2 ** 20,
    gemm: { m: 128, n: 128, k: 128 },
    gemmTile: { tileM: 16, tileN: 16, tileK: 8, threadM: 4, threadN: 4 },
    gemmTiled: 16,
    softmax: { rows: 64, columns: 4096 },
    attention: { tokens: 256, heads: 4, kvHeads: 2, headDim: 16 },
    flashTile: { queryTile: 16, keyTile: 16 },
    paged: { sequences: 2, heads: 4, kvHeads: 2, headDim: 64, blockSize: 16, tableWidth: 48 },
    int4: { rows: 256, columns: 1024, groupSize: 32 },
  },
};
