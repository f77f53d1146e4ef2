import { expect, it } from 'vitest';
import { describeOnGpu } from '../../../test/support/gpu.ts';
import { roundToNearest } from '../../core/quant/round-to-nearest.ts';
import { quantScheme } from '../../core/quant/scheme.ts';
import { problemError } from '../compare.ts';
import { type Int4Size, int4Problem, int4ProblemOf } from '../problems.ts';
import { randomFloats } from '../random-data.ts';
import { byKernel, solve } from '../solution.ts';
import { int4Gemv } from './int4-gemv.ts';
import { naiveInt4Gemv } from './int4-gemv-naive.ts';
import type { Int4Shape } from './int4-shape.ts';

const KERNELS = {
  naive: naiveInt4Gemv,
  'a word a lane': (shape: Int4Shape) => int4Gemv({ ...shape, rowsAtOnce: 4, threads: 32 }),
};

const SIZES: readonly Int4Size[] = [
  { rows: 1, columns: 1, groupSize: 32 },
  { rows: 7, columns: 200, groupSize: 16 },
  { rows: 30, columns: 1056, groupSize: 32 },
  { rows: 9, columns: 300, groupSize: 128 },
];

describeOnGpu('int4 GEMV', (gpu) => {
  for (const [name, kernel] of Object.entries(KERNELS)) {
    it.each(SIZES)(`${name}: $rows × $columns in groups of $groupSize`, async (size) => {
      const problem = int4Problem(size, 4);
      const y = await solve(gpu, problem, byKernel(kernel(problem.shape)));
      expect(problemError(problem, y)).toBeLessThan(5e-6);
    });
  }

  it('takes what rounding gives; not groups with zero points', async () => {
    const weights = randomFloats(6 * 96, 5);
    const matrix = (symmetric: boolean) =>
      roundToNearest(weights, 6, 96, quantScheme({ bits: 4, groupSize: 32, symmetric }));
    const problem = int4ProblemOf(matrix(true), 6);
    const y = await solve(gpu, problem, byKernel(int4Gemv(problem.shape)));
    expect(problemError(problem, y)).toBeLessThan(5e-6);
    expect(() => int4ProblemOf(matrix(false), 6)).toThrow(/without zero points/);
  });
});
