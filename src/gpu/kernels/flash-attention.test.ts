import { expect, it } from 'vitest';
import { describeOnGpu } from '../../../test/support/gpu.ts';
import { problemError } from '../compare.ts';
import { attentionProblem } from '../problems.ts';
import { byKernel, solve } from '../solution.ts';
import { fittedFlash, naiveAttention } from '../solutions.ts';
import type { AttentionShape } from './attention-shape.ts';
import { flashAttention } from './flash-attention.ts';
import type { FlashTile } from './flash-tile.ts';

const small: FlashTile = { queryTile: 16, keyTile: 16, threadQueries: 4 };
const long: FlashTile = { queryTile: 32, keyTile: 16, threadQueries: 8 };

const FLASH: readonly (AttentionShape & { readonly tile: FlashTile })[] = [
  { tokens: 1, heads: 1, kvHeads: 1, headDim: 16, tile: small },
  { tokens: 37, heads: 4, kvHeads: 2, headDim: 48, tile: small },
  { tokens: 64, heads: 2, kvHeads: 2, headDim: 16, tile: small },
  { tokens: 75, heads: 3, kvHeads: 1, headDim: 32, tile: long },
  { tokens: 21, heads: 2, kvHeads: 1, headDim: 40, tile: { queryTile: 8, keyTile: 20, threadQueries: 4 } },
];

/** One token; and heads that are not all in the first range, of a size that tiles do not divide. */
const NAIVE: readonly AttentionShape[] = [
  { tokens: 1, heads: 1, kvHeads: 1, headDim: 16 },
  { tokens: 75, heads: 3, kvHeads: 1, headDim: 36 },
];

describeOnGpu('attention', (gpu) => {
  it.each(FLASH)('$tokens tokens, $heads/$kvHeads heads of $headDim, flash $tile', async (shape) => {
    const problem = attentionProblem(shape, 7);
    const flash = await solve(gpu, problem, byKernel(flashAttention({ ...shape, ...shape.tile })));
    expect(problemError(problem, flash)).toBeLessThan(1e-5);
  });

  it.each(NAIVE)('$tokens tokens, $heads/$kvHeads heads of $headDim, naive', async (shape) => {
    const problem = attentionProblem(shape, 7);
    const naive = await solve(gpu, problem, naiveAttention({ ...shape, tile: 8 }, 2));
    expect(problemError(problem, naive)).toBeLessThan(1e-5);
  });

  it('takes the tile that fits the GPU, unless told otherwise', async () => {
    const shape = { tokens: 70, heads: 1, kvHeads: 1, headDim: 64 };
    const problem = attentionProblem(shape, 7);
    expect(problemError(problem, await solve(gpu, problem, fittedFlash(shape)))).toBeLessThan(1e-5);
    const told = fittedFlash({ ...shape, queryTile: 16 });
    expect(problemError(problem, await solve(gpu, problem, told))).toBeLessThan(1e-5);
  });

  it('refuses a head that key tiles do not divide', () => {
    const shape = { tokens: 8, heads: 1, kvHeads: 1, headDim: 48 };
    expect(() => flashAttention({ ...shape, queryTile: 64, keyTile: 32, threadQueries: 4 })).toThrow(
      /headDim 48 in tiles of 64/,
    );
  });

  it('says that a tile needs more workgroup memory than the GPU has', async () => {
    const shape = { tokens: 8, heads: 1, kvHeads: 1, headDim: 2048, ...small };
    const problem = attentionProblem(shape, 7);
    await expect(solve(gpu, problem, byKernel(flashAttention(shape)))).rejects.toMatchObject({
      code: 'RXLLM_KERNEL_INVALID',
      message: expect.stringMatching(/^flash attention: .*workgroup/),
    });
  });
});
