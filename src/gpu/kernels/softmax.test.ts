import { expect, it } from 'vitest';
import { describeOnGpu } from '../../../test/support/gpu.ts';
import { problemError } from '../compare.ts';
import { softmaxProblem } from '../problems.ts';
import { byKernel, solve } from '../solution.ts';
import { onlineSoftmax } from './softmax-online.ts';
import { onlineSoftmaxVec4 } from './softmax-online-vec4.ts';
import { threePassSoftmax } from './softmax-three-pass.ts';

const KERNELS = { 'three passes': threePassSoftmax, online: onlineSoftmax, 'online vec4': onlineSoftmaxVec4 };

const SHAPES = [
  { rows: 1, columns: 4 },
  { rows: 5, columns: 700 },
  { rows: 66_000, columns: 8 },
];

describeOnGpu('softmax', (gpu) => {
  for (const [name, kernel] of Object.entries(KERNELS)) {
    it.each(SHAPES)(`${name}: $rows × $columns`, async (shape) => {
      const problem = softmaxProblem(shape, 2);
      const y = await solve(gpu, problem, byKernel(kernel({ ...shape, threads: 64 })));
      expect(problemError(problem, y, 40)).toBeLessThan(5e-6);
    });
  }

  it.each([threePassSoftmax, onlineSoftmax])('%o: rows of any length', async (kernel) => {
    for (const columns of [1, 67]) {
      const problem = softmaxProblem({ rows: 3, columns }, 3);
      const y = await solve(gpu, problem, byKernel(kernel({ rows: 3, columns, threads: 64 })));
      expect(problemError(problem, y)).toBeLessThan(5e-6);
    }
  });

  it('vec4 refuses columns that are not in fours', () => {
    expect(() => onlineSoftmaxVec4({ rows: 1, columns: 6 })).toThrow(/columns in fours, not 6/);
  });
});
