import { groupsOf, type QuantizedMatrix } from '../core/quant/quantized-matrix.ts';
import { type AttentionShape, scoreScale } from './kernels/attention-shape.ts';
import type { GemmShape } from './kernels/gemm-naive.ts';
import type { PagedShape } from './kernels/paged-shape.ts';

// What the kernels compute, in float64, one row at a time: of a large result a few rows are enough.

export type Row = (row: number) => Float64Array;

/** Row `row` of C. */
export const gemmRow =
  (a: Float32Array, b: Float32Array, { n, k }: GemmShape): Row =>
  (row) => {
    const c = new Float64Array(n);
    for (let i = 0; i < k; i++) for (let j = 0; j < n; j++) c[j]! += a[row * k + i]! * b[i * n + j]!;
    return c;
  };

export const softmaxRow =
  (x: Float32Array, columns: number): Row =>
  (row) => {
    const values = Float64Array.from(x.subarray(row * columns, (row + 1) * columns));
    const maximum = values.reduce((a, b) => Math.max(a, b));
    const exps = values.map((value) => Math.exp(value - maximum));
    const sum = exps.reduce((a, b) => a + b);
    return exps.map((value) => value / sum);
  };

/** Row i: what head i % heads of query ⌊i / heads⌋ gets. */
export const attentionRow =
  (q: Float32Array, k: Float32Array, v: Float32Array, { heads, kvHeads, headDim }: AttentionShape): Row =>
  (row) => {
    const query = Math.floor(row / heads);
    const kvHead = Math.floor((row % heads) / (heads / kvHeads));
    return attend(q, row * headDim, k, v, headDim, query + 1, (token) => (token * kvHeads + kvHead) * headDim);
  };

/** Row i: what head i % heads of sequence ⌊i / heads⌋ gets. */
export const pagedRow =
  (
    { q, k, v, tables, lengths }: Record<'q' | 'k' | 'v', Float32Array> & Record<'tables' | 'lengths', Uint32Array>,
    { heads, kvHeads, headDim, blockSize, tableWidth }: PagedShape,
  ): Row =>
  (row) => {
    const sequence = Math.floor(row / heads);
    const kvHead = Math.floor((row % heads) / (heads / kvHeads));
    return attend(q, row * headDim, k, v, headDim, lengths[sequence]!, (token) => {
      const block = tables[sequence * tableWidth + Math.floor(token / blockSize)]!;
      return ((block * kvHeads + kvHead) * blockSize + (token % blockSize)) * headDim;
    });
  };

/** Element `row` of W x. */
export const int4Row =
  (matrix: QuantizedMatrix, x: Float32Array): Row =>
  (row) => {
    const { columns, groupSize, codes, scales, zeros } = matrix;
    let sum = 0;
    for (let i = 0; i < columns; i++) {
      const group = row * groupsOf(matrix) + Math.floor(i / groupSize);
      sum += (codes[row * columns + i]! - zeros[group]!) * scales[group]! * x[i]!;
    }
    return Float64Array.of(sum);
  };

function attend(
  q: Float32Array,
  at: number,
  k: Float32Array,
  v: Float32Array,
  headDim: number,
  length: number,
  placeOf: (token: number) => number,
): Float64Array {
  const scores = Float64Array.from({ length }, (_, token) => {
    const place = placeOf(token);
    let score = 0;
    for (let d = 0; d < headDim; d++) score += q[at + d]! * k[place + d]!;
    return score * scoreScale(headDim);
  });
  const maximum = scores.reduce((a, b) => Math.max(a, b));
  const weights = scores.map((score) => Math.exp(score - maximum));
  const sum = weights.reduce((a, b) => a + b);
  const o = new Float64Array(headDim);
  weights.forEach((weight, token) => {
    const place = placeOf(token);
    for (let d = 0; d < headDim; d++) o[d]! += (weight / sum) * v[place + d]!;
  });
  return o;
}
