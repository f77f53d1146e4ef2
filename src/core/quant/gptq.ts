import { RxllmError } from '../errors.ts';
import { encode, fitGrid, type Grid } from './group-grid.ts';
import { inverseFactor } from './inverse-factor.ts';
import { emptyMatrix, groupsOf, type QuantizedMatrix } from './quantized-matrix.ts';
import type { QuantScheme } from './scheme.ts';

export interface GptqOptions {
  /** Share of the Hessian's mean diagonal that is added to it, so that its inverse is tame. Default 0.01. */
  readonly damping?: number;
  /** Columns whose errors are fed back among each other before the rest of the matrix sees them. Default 128. */
  readonly blockSize?: number;
  /**
   * Columns whose inputs are largest come first, while there are many left to make up for them. Groups stay where they
   * are, with grids fitted beforehand, so that nothing has to be reordered when the model runs. Default false.
   */
  readonly actOrder?: boolean;
}

/** What of the Hessian all matrices with the same inputs share. */
export interface GptqInputs {
  /** Column j of the work is input `order[j]`. */
  readonly order: Int32Array;
  /** Upper triangular, `[columns, columns]` in that order: U of H⁻¹ = Uᵀ U. */
  readonly factor: Float64Array;
  /** Inputs that are always 0. */
  readonly dead: readonly number[];
  readonly actOrder: boolean;
  readonly blockSize: number;
}

/**
 * `gram [columns, columns]`: the sum of x xᵀ over the calibration inputs; the Hessian, but for a factor that cancels.
 * @throws RxllmError `RXLLM_OPTION_INVALID`, `RXLLM_MODEL_FILE_INVALID` where the inputs are not finite
 */
export function gptqInputs(
  gram: Float64Array,
  columns: number,
  { damping = 0.01, blockSize = 128, actOrder = false }: GptqOptions = {},
): GptqInputs {
  if (!Number.isInteger(blockSize) || blockSize < 1) {
    const message = `blockSize ${blockSize} is not a whole number of at least 1`;
    throw new RxllmError('RXLLM_OPTION_INVALID', message, { param: 'blockSize' });
  }
  const diagonal = Float64Array.from({ length: columns }, (_, i) => gram[i * columns + i]!);
  if (!diagonal.every(Number.isFinite)) {
    const message = 'the model computes NaN or infinity for the calibration text; copy it again from its source';
    throw new RxllmError('RXLLM_MODEL_FILE_INVALID', message);
  }
  const order = Int32Array.from({ length: columns }, (_, i) => i);
  if (actOrder) order.sort((a, b) => diagonal[b]! - diagonal[a]! || a - b);
  const dead = [...order].filter((input) => diagonal[input] === 0);
  const damp = (damping * diagonal.reduce((a, b) => a + b, 0)) / columns;
  const hessian = new Float64Array(columns * columns);
  for (let i = 0; i < columns; i++) {
    for (let j = 0; j < columns; j++) hessian[i * columns + j] = gram[order[i]! * columns + order[j]!]!;
    hessian[i * columns + i]! += diagonal[order[i]!] === 0 ? 1 : damp;
  }
  return { order, factor: inverseFactor(hessian, columns), dead, actOrder, blockSize };
}

/**
 * GPTQ (2022): weights `[rows, columns]` are rounded a column at a time, and what rounding has changed of the layer's
 * output is made up for, as well as it can be, by the columns that are still to come.
 */
export function gptq(weights: Float32Array, rows: number, inputs: GptqInputs, scheme: QuantScheme): QuantizedMatrix {
  const { order, factor, dead, actOrder, blockSize } = inputs;
  const columns = order.length;
  const matrix = emptyMatrix(rows, columns, scheme);
  const groups = groupsOf(matrix);
  const { groupSize, codes, scales, zeros } = matrix;
  const maxCode = 2 ** scheme.bits - 1;
  const alive = Float32Array.from(weights);
  for (const input of dead) for (let row = 0; row < rows; row++) alive[row * columns + input] = 0;
  const work = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let j = 0; j < columns; j++) work[row * columns + j] = alive[row * columns + order[j]!]!;
  }

  const grids: Grid[] = Array(rows * groups);
  const fitGroup = (values: Float32Array | Float64Array, row: number, group: number) => {
    const from = row * columns + group * groupSize;
    const grid = fitGrid(values, from, Math.min(from + groupSize, (row + 1) * columns), scheme);
    grids[row * groups + group] = grid;
    scales[row * groups + group] = grid.scale;
    zeros[row * groups + group] = grid.zero;
  };
  if (actOrder)
    for (let row = 0; row < rows; row++) for (let group = 0; group < groups; group++) fitGroup(alive, row, group);

  // A group's grid is fitted to what feedback has made of its weights, so a block must not end inside a group that it does not begin.
  const step = groupSize < columns ? Math.ceil(blockSize / groupSize) * groupSize : blockSize;
  const errors = new Float64Array(step);
  for (let start = 0; start < columns; start += step) {
    const end = Math.min(start + step, columns);
    for (let row = 0; row < rows; row++) {
      const base = row * columns;
      for (let j = start; j < end; j++) {
        const input = order[j]!;
        const group = Math.floor(input / groupSize);
        if (!actOrder && j % groupSize === 0) fitGroup(work, row, group);
        const grid = grids[row * groups + group]!;
        const weight = work[base + j]!;
        const code = encode(weight, grid, maxCode);
        codes[base + input] = code;
        const error = (weight - (code - grid.zero) * grid.scale) / factor[j * columns + j]!;
        errors[j - start] = error;
        for (let k = j + 1; k < end; k++) work[base + k]! -= error * factor[j * columns + k]!;
      }
      feedBack(work, base, factor, columns, errors, start, end);
    }
  }
  return matrix;
}

/** The errors of a block's columns, to all columns behind the block: four at a time, so that a weight is read once for four. */
function feedBack(
  work: Float64Array,
  base: number,
  factor: Float64Array,
  columns: number,
  errors: Float64Array,
  start: number,
  end: number,
): void {
  let j = start;
  for (; j + 3 < end; j += 4) {
    const [e0, e1, e2, e3] = [
      errors[j - start]!,
      errors[j - start + 1]!,
      errors[j - start + 2]!,
      errors[j - start + 3]!,
    ];
    const u0 = j * columns;
    const u1 = u0 + columns;
    const u2 = u1 + columns;
    const u3 = u2 + columns;
    for (let k = end; k < columns; k++) {
      work[base + k]! -= e0 * factor[u0 + k]! + e1 * factor[u1 + k]! + e2 * factor[u2 + k]! + e3 * factor[u3 + k]!;
    }
  }
  for (; j < end; j++) {
    for (let k = end; k < columns; k++) work[base + k]! -= errors[j - start]! * factor[j * columns + k]!;
  }
}
