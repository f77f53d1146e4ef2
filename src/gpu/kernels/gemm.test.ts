import { expect, it } from 'vitest';
import { describeOnGpu } from '../../../test/support/gpu.ts';
import { problemError } from '../compare.ts';
import type { Kernel } from '../kernel.ts';
import { gemmProblem } from '../problems.ts';
import { byKernel, solve } from '../solution.ts';
import { type GemmShape, naiveGemm } from './gemm-naive.ts';
import { registerGemm } from './gemm-register.ts';
import { tiledGemm } from './gemm-tiled.ts';

const tile = { tileM: 16, tileN: 16, tileK: 8, threadM: 4, threadN: 4 };
const prefetching = { ...tile, tileM: 32, threadM: 8, prefetch: true };

const KERNELS: Readonly<Record<string, (shape: GemmShape) => Kernel>> = {
  naive: naiveGemm,
  tiled: tiledGemm,
  'in registers': (shape) => registerGemm({ ...shape, ...tile }),
  'in registers, prefetching': (shape) => registerGemm({ ...shape, ...prefetching }),
};

const SHAPES: readonly GemmShape[] = [
  { m: 1, n: 1, k: 1 },
  { m: 37, n: 53, k: 29 },
  { m: 64, n: 96, k: 40 },
  { m: 70, n: 36, k: 44 },
];

describeOnGpu('GEMM', (gpu) => {
  for (const [name, kernel] of Object.entries(KERNELS)) {
    it.each(SHAPES)(`${name}: $m × $n × $k`, async (shape) => {
      const problem = gemmProblem(shape, 1);
      const c = await solve(gpu, problem, byKernel(kernel(shape)));
      expect(problemError(problem, c)).toBeLessThan(2e-6);
    });
  }

  it('refuses tiles that threads do not fill', () => {
    expect(() => registerGemm({ m: 8, n: 8, k: 8, threadM: 12 })).toThrow(/not 128×128×16 by 12×8/);
  });
});
