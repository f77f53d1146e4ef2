import {
  attentionProblem,
  byKernel,
  copy,
  fittedFlash,
  flashAttention,
  gemmProblem,
  int4Gemv,
  int4Problem,
  naiveAttention,
  naiveGemm,
  naiveInt4Gemv,
  onlineSoftmax,
  onlineSoftmaxVec4,
  type Problem,
  pagedDecode,
  pagedProblem,
  randomFloats,
  registerGemm,
  type Solution,
  softmaxProblem,
  threePassSoftmax,
  tiledGemm,
} from '../../src/gpu/index.ts';
import type { Sizes } from './sizes.ts';
import {
  FLASH_VARIANTS,
  GEMM_VARIANTS,
  INT4_VARIANTS,
  PAGED_VARIANTS,
  SOFTMAX_VARIANTS,
  type Variant,
} from './variants.ts';

export interface Contender {
  readonly kernel: string;
  /** Tile sizes and the like that are not the kernel's own. */
  readonly variant: string;
  readonly solution: Solution;
}

/** Several kernels for the same problem. */
export interface Case {
  readonly name: string;
  readonly shape: string;
  readonly problem: Problem;
  /** Done once by a run: multiplications and additions, or bytes that must be read and written. */
  readonly work: { readonly unit: 'FLOP' | 'bytes'; readonly amount: number };
  /** Of the relative error. */
  readonly tolerance: number;
  readonly contenders: readonly Contender[];
}

const FLOAT = Float32Array.BYTES_PER_ELEMENT;

/** Each as a function, for together their data does not fit. */
export const CASES: Readonly<Record<string, (sizes: Sizes) => Case>> = {
  copy: ({ copy: floats }) => {
    const columns = 4096;
    const rows = floats / columns;
    const x = randomFloats(columns, 1);
    const whole = new Float32Array(floats);
    for (let row = 0; row < rows; row++) whole.set(x, row * columns);
    return {
      name: 'copy',
      shape: `${(floats * FLOAT) / 2 ** 20} MiB`,
      problem: { inputs: [whole], rows, columns, expected: () => Float64Array.from(x) },
      work: { unit: 'bytes', amount: 2 * floats * FLOAT },
      tolerance: Number.MIN_VALUE,
      contenders: [one('copy', byKernel(copy({ quads: floats / 4 })))],
    };
  },
  gemm: ({ gemm: shape, gemmTile, gemmTiled }) => ({
    name: 'gemm',
    shape: `${shape.m} × ${shape.n} × ${shape.k}`,
    problem: gemmProblem(shape, 2),
    work: { unit: 'FLOP', amount: 2 * shape.m * shape.n * shape.k },
    tolerance: 1e-5,
    contenders: [
      one('naive', byKernel(naiveGemm(shape))),
      one('tiled', byKernel(tiledGemm({ ...shape, tile: gemmTiled }))),
      one('register', byKernel(registerGemm({ ...shape, ...gemmTile }))),
      ...variants('register', GEMM_VARIANTS, (tile) => byKernel(registerGemm({ ...shape, ...tile }))),
    ],
  }),
  softmax: ({ softmax: shape }) => ({
    name: 'softmax',
    shape: `${shape.rows} × ${shape.columns}`,
    problem: softmaxProblem(shape, 3),
    work: { unit: 'bytes', amount: 2 * shape.rows * shape.columns * FLOAT },
    tolerance: 1e-5,
    contenders: [
      one('three passes', byKernel(threePassSoftmax(shape))),
      one('online', byKernel(onlineSoftmax(shape))),
      one('online vec4', byKernel(onlineSoftmaxVec4(shape))),
      ...variants('online vec4', SOFTMAX_VARIANTS, (threads) => byKernel(onlineSoftmaxVec4({ ...shape, ...threads }))),
    ],
  }),
  attention: ({ attention: shape, flashTile }) => ({
    name: 'attention',
    shape: `${shape.tokens} tokens, ${shape.heads}/${shape.kvHeads} heads of ${shape.headDim}, causal`,
    problem: attentionProblem(shape, 4),
    // Two products for each query and the keys up to it.
    work: { unit: 'FLOP', amount: 2 * shape.tokens * (shape.tokens + 1) * shape.heads * shape.headDim },
    tolerance: 1e-5,
    contenders: [
      one('naive', naiveAttention(shape, 16)),
      one('flash', fittedFlash({ ...shape, ...flashTile })),
      ...variants('flash', FLASH_VARIANTS, (tile) => byKernel(flashAttention({ ...shape, ...tile }))),
    ],
  }),
  paged: ({ paged: shape }) => {
    const tokens = shape.blockSize * shape.tableWidth;
    return {
      name: 'paged decode',
      shape: `${shape.sequences} × ${tokens} tokens, ${shape.heads}/${shape.kvHeads} heads of ${shape.headDim}, blocks of ${shape.blockSize}`,
      problem: pagedProblem(shape, Array<number>(shape.sequences).fill(tokens), 5),
      work: { unit: 'bytes', amount: 2 * shape.sequences * tokens * shape.kvHeads * shape.headDim * FLOAT },
      tolerance: 1e-5,
      contenders: [
        one('without subgroups', pagedDecode(shape, { subgroups: false })),
        one('subgroups', pagedDecode(shape)),
        ...variants('subgroups', PAGED_VARIANTS, (tile) => pagedDecode({ ...shape, ...tile }, tile)),
      ],
    };
  },
  int4: ({ int4: size }) => {
    const { shape, ...problem } = int4Problem(size, 6);
    const bytes = problem.inputs.reduce((sum, { byteLength }) => sum + byteLength, size.rows * FLOAT);
    return {
      name: 'int4 gemv',
      shape: `${size.rows} × ${size.columns}, groups of ${size.groupSize}`,
      problem,
      work: { unit: 'bytes', amount: bytes },
      tolerance: 2e-5,
      contenders: [
        one('naive', byKernel(naiveInt4Gemv(shape))),
        one('a word a lane', byKernel(int4Gemv(shape))),
        ...variants('a word a lane', INT4_VARIANTS, (tile) => byKernel(int4Gemv({ ...shape, ...tile }))),
      ],
    };
  },
};

const one = (kernel: string, solution: Solution): Contender => ({ kernel, variant: '', solution });

function variants<T extends Variant>(
  kernel: string,
  tiles: readonly T[],
  solutionOf: (tile: T) => Solution,
): Contender[] {
  return tiles.map((tile) => ({
    kernel,
    variant: Object.entries(tile)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
    // A tile that this shape does not take fails when it is run, like one that this GPU does not take.
    solution: async (...given) => solutionOf(tile)(...given),
  }));
}
