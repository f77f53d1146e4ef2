import { expect, it } from 'vitest';
import { describeOnGpu } from '../../../test/support/gpu.ts';
import { problemError } from '../compare.ts';
import { attentionProblem } from '../problems.ts';
import { byKernel, solve } from '../solution.ts';
import { naiveAttention } from '../solutions.ts';
import type { AttentionShape } from './attention-shape.ts';
import { type FlashTile, flashAttention } from './flash-attention.ts';

const small: FlashTile = { queryTile: 16, keyTile: 16, threadQueries: 4 };
const long: FlashTile = { queryTile: 32, keyTile: 16, threadQueries: 8 };

const CASES: readonly (AttentionShape & { readonly tile: FlashTile })[] = [
  { tokens: 1, heads: 1, kvHeads: 1, headDim: 16, tile: small },
  { tokens: 37, heads: 4, kvHeads: 2, headDim: 48, tile: small },
  { tokens: 64, heads: 2, kvHeads: 2, headDim: 16, tile: small },
  { tokens: 75, heads: 3, kvHeads: 1, headDim: 32, tile: long },
];

describeOnGpu('attention', (gpu) => {
  it.each(CASES)('$tokens tokens, $heads/$kvHeads heads of $headDim, flash $tile and naive', async (shape) => {
    const problem = attentionProblem(shape, 7);
    const flash = await solve(gpu, problem, byKernel(flashAttention({ ...shape, ...shape.tile })));
    expect(problemError(problem, flash)).toBeLessThan(1e-5);
    const naive = await solve(gpu, problem, naiveAttention({ ...shape, tile: 8 }, 2));
    expect(problemError(problem, naive)).toBeLessThan(1e-5);
  });

  it('refuses a head that key tiles do not divide', () => {
    expect(() => flashAttention({ tokens: 8, heads: 1, kvHeads: 1, headDim: 48, keyTile: 32 })).toThrow(
      /headDim 48 in tiles of 64/,
    );
  });
});
