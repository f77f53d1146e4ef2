import { expect, it } from 'vitest';
import { describeOnGpu } from '../../../test/support/gpu.ts';
import { problemError } from '../compare.ts';
import { pagedProblem } from '../problems.ts';
import { solve } from '../solution.ts';
import { pagedDecode } from '../solutions.ts';
import { lanesFor } from './paged-attention.ts';

const CASES = [
  { lengths: [1], heads: 1, kvHeads: 1, headDim: 16, blockSize: 16, tableWidth: 1 },
  { lengths: [100, 1, 33, 128], heads: 4, kvHeads: 2, headDim: 64, blockSize: 16, tableWidth: 8 },
  { lengths: [70, 71], heads: 6, kvHeads: 2, headDim: 48, blockSize: 8, tableWidth: 10 },
];

describeOnGpu('paged decode attention', (gpu) => {
  for (const subgroups of gpu.subgroupSize > 1 ? [true, false] : [false]) {
    it.each(CASES)(
      `${subgroups ? 'with' : 'without'} subgroups: tokens $lengths, $heads/$kvHeads heads of $headDim, blocks of $blockSize`,
      async ({ lengths, ...rest }) => {
        const shape = { ...rest, sequences: lengths.length, partition: 48 };
        const problem = pagedProblem(shape, lengths, 8);
        const o = await solve(gpu, problem, pagedDecode(shape, { subgroups, threads: 32, tokensAtOnce: 2 }));
        expect(problemError(problem, o)).toBeLessThan(1e-5);
      },
    );
  }

  it('takes as many lanes as a head and a subgroup have', () => {
    expect([lanesFor(64, 32), lanesFor(64, 8), lanesFor(48, 32), lanesFor(20, 32)]).toEqual([16, 8, 4, 1]);
  });
});
