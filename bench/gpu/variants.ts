import type { FlashTile, Int4GemvTile, PagedTile, RegisterTile } from '../../src/gpu/index.ts';

// What `--sweep` measures beside each kernel's own tile.

export type Variant = object;

const registerTile = (
  tileM: number,
  tileN: number,
  tileK: number,
  threadM: number,
  threadN: number,
  prefetch = false,
): RegisterTile => ({ tileM, tileN, tileK, threadM, threadN, prefetch });

export const GEMM_VARIANTS: readonly RegisterTile[] = [
  registerTile(128, 128, 16, 16, 8),
  registerTile(128, 128, 8, 16, 8),
  registerTile(128, 128, 8, 16, 8, true),
  registerTile(128, 128, 32, 16, 8),
  registerTile(128, 128, 16, 8, 8),
  registerTile(128, 128, 16, 8, 8, true),
  registerTile(128, 128, 8, 8, 8),
  registerTile(128, 128, 8, 8, 8, true),
  registerTile(128, 128, 16, 8, 16),
  registerTile(128, 64, 16, 8, 8, true),
  registerTile(64, 128, 16, 8, 8, true),
  registerTile(256, 128, 16, 16, 8, true),
];

export const SOFTMAX_VARIANTS: readonly { readonly threads: number }[] = [
  { threads: 128 },
  { threads: 512 },
  { threads: 1024 },
];

const flashTile = (queryTile: number, keyTile: number, threadQueries: number): FlashTile => ({
  queryTile,
  keyTile,
  threadQueries,
});

export const FLASH_VARIANTS: readonly FlashTile[] = [
  flashTile(64, 32, 8),
  flashTile(64, 32, 4),
  flashTile(64, 64, 8),
  flashTile(32, 32, 4),
  flashTile(32, 64, 4),
  flashTile(32, 64, 8),
  flashTile(64, 16, 4),
  flashTile(64, 16, 8),
  flashTile(128, 16, 8),
];

type Paged = Partial<PagedTile> & { readonly partition?: number };

export const PAGED_VARIANTS: readonly Paged[] = [
  { tokensAtOnce: 1 },
  { tokensAtOnce: 2 },
  { tokensAtOnce: 8 },
  { lanes: 8 },
  { lanes: 8, tokensAtOnce: 2 },
  { threads: 128 },
  { threads: 256 },
  { partition: 256 },
  { partition: 1024 },
  { partition: 2048 },
];

export const INT4_VARIANTS: readonly Int4GemvTile[] = [4, 8, 16].flatMap((rowsAtOnce) =>
  [32, 64, 128, 256].map((threads) => ({ rowsAtOnce, threads })),
);
