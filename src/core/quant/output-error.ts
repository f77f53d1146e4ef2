import { dequantize, type QuantizedMatrix } from './quantized-matrix.ts';

/**
 * ‖X Wᵀ − X Ŵᵀ‖² / ‖X Wᵀ‖² of a layer, from the gram X ᵀX of its inputs `[columns, columns]`: what quantizing W has changed of
 * the layer's output.
 */
export function outputError(weights: Float32Array, matrix: QuantizedMatrix, gram: Float64Array): number {
  const { rows, columns } = matrix;
  const changed = dequantize(matrix);
  for (let i = 0; i < changed.length; i++) changed[i]! -= weights[i]!;
  return energy(changed, rows, columns, gram) / energy(weights, rows, columns, gram);
}

/** Σ over rows of w G wᵀ. */
function energy(weights: Float32Array, rows: number, columns: number, gram: Float64Array): number {
  const product = new Float64Array(columns);
  let sum = 0;
  for (let row = 0; row < rows; row++) {
    const w = weights.subarray(row * columns, (row + 1) * columns);
    product.fill(0);
    for (let i = 0; i < columns; i++) {
      const value = w[i]!;
      const from = i * columns;
      for (let j = 0; j < columns; j++) product[j]! += value * gram[from + j]!;
    }
    for (let j = 0; j < columns; j++) sum += w[j]! * product[j]!;
  }
  return sum;
}
