import { expect, it } from 'vitest';
import { describeOnGpu } from '../../../test/support/gpu.ts';
import { createRandom } from '../../core/sampling/random.ts';
import { problemError } from '../compare.ts';
import { attentionProblem, gemmProblem, int4Problem, pagedProblem, softmaxProblem } from '../problems.ts';
import { byKernel, type Problem, type Solution, solve } from '../solution.ts';
import { fittedFlash, naiveAttention, pagedDecode } from '../solutions.ts';
import { flashAttention } from './flash-attention.ts';
import { naiveGemm } from './gemm-naive.ts';
import { registerGemm } from './gemm-register.ts';
import { tiledGemm } from './gemm-tiled.ts';
import { int4Gemv } from './int4-gemv.ts';
import { naiveInt4Gemv } from './int4-gemv-naive.ts';
import { onlineSoftmax } from './softmax-online.ts';
import { onlineSoftmaxVec4 } from './softmax-online-vec4.ts';
import { threePassSoftmax } from './softmax-three-pass.ts';

const ROUNDS = 6;

const random = createRandom(20);
const upTo = (most: number) => 1 + Math.floor(random() * most);
const oneOf = <T>(values: readonly T[]): T => values[upTo(values.length) - 1]!;

/** Shapes are drawn before the tests run, so that a failing one is in a title. */
const rounds = <T extends object>(draw: () => T): T[] => Array.from({ length: ROUNDS }, draw);

const headsOf = () => {
  const kvHeads = upTo(3);
  return { kvHeads, heads: kvHeads * upTo(4) };
};

describeOnGpu('on random shapes', (gpu) => {
  const errorOf = async (problem: Problem, solution: Solution) =>
    problemError(problem, await solve(gpu, problem, solution));

  it.each(rounds(() => ({ m: upTo(90), n: upTo(90), k: upTo(90) })))('GEMM %o', async (shape) => {
    const problem = gemmProblem(shape, 1);
    const tile = { tileM: 32, tileN: 16, tileK: 8, threadM: 8, threadN: 8 };
    for (const kernel of [naiveGemm(shape), tiledGemm(shape), registerGemm({ ...shape, ...tile })]) {
      expect(await errorOf(problem, byKernel(kernel)), kernel.name).toBeLessThan(2e-6);
    }
  });

  it.each(rounds(() => ({ rows: upTo(40), columns: 4 * upTo(600) })))('softmax %o', async (shape) => {
    const problem = softmaxProblem(shape, 2);
    for (const kernel of [threePassSoftmax(shape), onlineSoftmax(shape), onlineSoftmaxVec4(shape)]) {
      expect(await errorOf(problem, byKernel(kernel)), kernel.name).toBeLessThan(5e-6);
    }
  });

  it.each(rounds(() => ({ rows: upTo(70), columns: upTo(2000), groupSize: oneOf([16, 32, 64, 128] as const) })))(
    'int4 GEMV %o',
    async (size) => {
      const problem = int4Problem(size, 3);
      for (const kernel of [naiveInt4Gemv(problem.shape), int4Gemv(problem.shape)]) {
        expect(await errorOf(problem, byKernel(kernel)), kernel.name).toBeLessThan(5e-6);
      }
    },
  );

  it.each(rounds(() => ({ tokens: upTo(150), ...headsOf(), headDim: 16 * upTo(4) })))('attention %o', async (shape) => {
    const problem = attentionProblem(shape, 4);
    const tile = { queryTile: 32, keyTile: 16, threadQueries: oneOf([4, 8]) };
    expect(await errorOf(problem, byKernel(flashAttention({ ...shape, ...tile })))).toBeLessThan(1e-5);
    expect(await errorOf(problem, naiveAttention(shape, 3))).toBeLessThan(1e-5);
  });

  it.each(
    rounds(() => ({
      ...headsOf(),
      sequences: upTo(4),
      headDim: 4 * upTo(32),
      blockSize: oneOf([8, 16, 32]),
      tableWidth: upTo(12),
      partition: oneOf([64, 128, 512]),
    })),
  )('paged decode %o', async (shape) => {
    const lengths = Array.from({ length: shape.sequences }, () => upTo(shape.blockSize * shape.tableWidth));
    const problem = pagedProblem(shape, lengths, 5);
    for (const subgroups of gpu.subgroupSize > 1 ? [true, false] : [false]) {
      expect(await errorOf(problem, pagedDecode(shape, { subgroups, threads: 64 }))).toBeLessThan(1e-5);
    }
  });

  it('with the tiles that GPUs get', async () => {
    const shape = { m: 132, n: 260, k: 36 };
    const problem = gemmProblem(shape, 6);
    for (const prefetch of [false, true]) {
      expect(await errorOf(problem, byKernel(registerGemm({ ...shape, prefetch })))).toBeLessThan(2e-6);
    }
    const heads = { tokens: 130, heads: 4, kvHeads: 2, headDim: 64 };
    expect(await errorOf(attentionProblem(heads, 7), fittedFlash(heads))).toBeLessThan(1e-5);
  });
});
