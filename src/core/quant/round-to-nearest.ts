import { encode, fitGrid } from './group-grid.ts';
import { emptyMatrix, groupsOf, type QuantizedMatrix } from './quantized-matrix.ts';
import type { QuantScheme } from './scheme.ts';

/** Each weight of `[rows, columns]` to the nearest value of its group's grid, by itself. */
export function roundToNearest(
  weights: Float32Array,
  rows: number,
  columns: number,
  scheme: QuantScheme,
): QuantizedMatrix {
  const matrix = emptyMatrix(rows, columns, scheme);
  const groups = groupsOf(matrix);
  const maxCode = 2 ** scheme.bits - 1;
  for (let row = 0; row < rows; row++) {
    for (let group = 0; group < groups; group++) {
      const from = row * columns + group * matrix.groupSize;
      const to = Math.min(from + matrix.groupSize, (row + 1) * columns);
      const grid = fitGrid(weights, from, to, scheme);
      matrix.scales[row * groups + group] = grid.scale;
      matrix.zeros[row * groups + group] = grid.zero;
      for (let i = from; i < to; i++) matrix.codes[i] = encode(weights[i]!, grid, maxCode);
    }
  }
  return matrix;
}
