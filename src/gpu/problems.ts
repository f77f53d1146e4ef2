import { fromHalf, toHalf } from '../core/quant/half.ts';
import { packBlocks } from '../core/quant/pack-blocks.ts';
import { emptyMatrix, type QuantizedMatrix } from '../core/quant/quantized-matrix.ts';
import { quantScheme } from '../core/quant/scheme.ts';
import { createRandom } from '../core/sampling/random.ts';
import type { AttentionShape } from './kernels/attention-shape.ts';
import type { GemmShape } from './kernels/gemm-naive.ts';
import { type Int4Shape, int4Shape, int4Words, paddedToBlocks } from './kernels/int4-shape.ts';
import type { PagedShape } from './kernels/paged-shape.ts';
import type { SoftmaxShape } from './kernels/softmax-shape.ts';
import { randomFloats } from './random-data.ts';
import { attentionRow, gemmRow, int4Row, pagedRow, softmaxRow } from './reference.ts';
import type { Problem } from './solution.ts';

/** Scores of attention and inputs of softmax spread over a few units, so that weights are neither equal nor one. */
const SPREAD = 3;

export function gemmProblem(shape: GemmShape, seed: number): Problem {
  const { m, n, k } = shape;
  const a = randomFloats(m * k, seed);
  const b = randomFloats(k * n, seed + 1);
  return { inputs: [a, b], rows: m, columns: n, expected: gemmRow(a, b, shape) };
}

export function softmaxProblem({ rows, columns }: SoftmaxShape, seed: number): Problem {
  const x = randomFloats(rows * columns, seed, 10 * SPREAD);
  return { inputs: [x], rows, columns, expected: softmaxRow(x, columns) };
}

export function attentionProblem(shape: AttentionShape, seed: number): Problem {
  const { tokens, heads, kvHeads, headDim } = shape;
  const q = randomFloats(tokens * heads * headDim, seed, SPREAD);
  const k = randomFloats(tokens * kvHeads * headDim, seed + 1, SPREAD);
  const v = randomFloats(tokens * kvHeads * headDim, seed + 2);
  return { inputs: [q, k, v], rows: tokens * heads, columns: headDim, expected: attentionRow(q, k, v, shape) };
}

/** The blocks of all tables in random order, in a pool with some to spare. */
export function pagedProblem(shape: PagedShape, lengths: readonly number[], seed: number): Problem {
  const { sequences, heads, kvHeads, headDim, blockSize, tableWidth } = shape;
  const blocks = sequences * tableWidth + 3;
  const data = {
    q: randomFloats(sequences * heads * headDim, seed, SPREAD),
    k: randomFloats(blocks * kvHeads * blockSize * headDim, seed + 1, SPREAD),
    v: randomFloats(blocks * kvHeads * blockSize * headDim, seed + 2),
    tables: shuffled(blocks, seed + 3).subarray(0, sequences * tableWidth),
    lengths: Uint32Array.from(lengths),
  };
  return {
    inputs: [data.q, data.k, data.v, data.tables, data.lengths],
    rows: sequences * heads,
    columns: headDim,
    expected: pagedRow(data, shape),
  };
}

export interface Int4Size {
  readonly rows: number;
  readonly columns: number;
  readonly groupSize: 16 | 32 | 64 | 128;
}

export function int4Problem(size: Int4Size, seed: number): Problem & { readonly shape: Int4Shape } {
  return int4ProblemOf(randomMatrix(size, seed), seed + 1);
}

export function int4ProblemOf(matrix: QuantizedMatrix, seed: number): Problem & { readonly shape: Int4Shape } {
  const packed = packBlocks(matrix);
  const shape = int4Shape(packed);
  const x = randomFloats(matrix.columns, seed);
  return {
    shape,
    inputs: [int4Words(packed), packed.scales as Float32Array<ArrayBuffer>, paddedToBlocks(x, shape)],
    rows: matrix.rows,
    columns: 1,
    expected: int4Row(matrix, x),
  };
}

function randomMatrix({ rows, columns, groupSize }: Int4Size, seed: number): QuantizedMatrix {
  const scheme = quantScheme({ bits: 4, groupSize });
  const matrix = emptyMatrix(rows, columns, scheme);
  const random = createRandom(seed);
  for (let i = 0; i < matrix.codes.length; i++) matrix.codes[i] = random() * 16;
  for (let i = 0; i < matrix.scales.length; i++) matrix.scales[i] = fromHalf(toHalf(0.01 + 0.02 * random()));
  matrix.zeros.fill(8);
  return matrix;
}

function shuffled(length: number, seed: number): Uint32Array<ArrayBuffer> {
  const random = createRandom(seed);
  const values = Uint32Array.from({ length }, (_, i) => i);
  for (let i = length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [values[i], values[j]] = [values[j]!, values[i]!];
  }
  return values;
}
