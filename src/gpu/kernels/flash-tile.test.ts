import { expect, it } from 'vitest';
import { flashBytes, flashTile } from './flash-tile.ts';

const KIB = 1024;

it.each([
  [64, 48, '64×64'],
  [64, 32, '64×32'],
  [64, 16, '32×16'],
  [128, 48, '64×16'],
  [128, 32, '32×16'],
  [128, 16, '16×8'],
  [80, 48, '64×40'],
  [48, 48, '64×48'],
  [16, 16, '64×16'],
])('heads of %i in %i KiB: %s', (headDim, kib, expected) => {
  const tile = flashTile(headDim, kib * KIB);
  expect(`${tile.queryTile}×${tile.keyTile}`).toBe(expected);
  expect(flashBytes(headDim, tile)).toBeLessThanOrEqual(kib * KIB);
});

it.each([6, 4096])('heads of %i have none', (headDim) => {
  expect(() => flashTile(headDim, 16 * KIB)).toThrow(
    expect.objectContaining({ code: 'RXLLM_KERNEL_INVALID', message: expect.stringContaining(`headDim ${headDim}`) }),
  );
});
