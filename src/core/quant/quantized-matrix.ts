import type { QuantScheme } from './scheme.ts';

/** Weights `[rows, columns]` (out, in) as whole numbers: weight ≈ (code − zero) × scale, with a scale and a zero a group. */
export interface QuantizedMatrix {
  readonly rows: number;
  readonly columns: number;
  readonly bits: QuantScheme['bits'];
  /** Columns a group; the last one may be shorter. */
  readonly groupSize: number;
  /** `[rows, columns]` */
  readonly codes: Uint8Array;
  /** `[rows, groups]`; each can be stored as a float16. */
  readonly scales: Float32Array;
  /** `[rows, groups]` */
  readonly zeros: Uint8Array;
  /** Column j holds the weights of input `order[j]`; absent where that is j. */
  readonly order?: Int32Array;
}

export const groupsOf = ({ columns, groupSize }: Pick<QuantizedMatrix, 'columns' | 'groupSize'>): number =>
  Math.ceil(columns / groupSize);

export function emptyMatrix(rows: number, columns: number, { bits, groupSize }: QuantScheme): QuantizedMatrix {
  const size = groupSize === 'channel' ? columns : groupSize;
  const groups = Math.ceil(columns / size);
  return {
    rows,
    columns,
    bits,
    groupSize: size,
    codes: new Uint8Array(rows * columns),
    scales: new Float32Array(rows * groups),
    zeros: new Uint8Array(rows * groups),
  };
}

/** The weights that the codes stand for, `[rows, columns]` in the order of the inputs. */
export function dequantize(matrix: QuantizedMatrix): Float32Array {
  const { rows, columns, groupSize, codes, scales, zeros, order } = matrix;
  const groups = groupsOf(matrix);
  const weights = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const group = row * groups + Math.floor(column / groupSize);
      const input = order === undefined ? column : order[column]!;
      weights[row * columns + input] = (codes[row * columns + column]! - zeros[group]!) * scales[group]!;
    }
  }
  return weights;
}

/** The rows of several matrices under each other: they share a scheme and the order of their columns. */
export function stackRows(matrices: readonly QuantizedMatrix[]): QuantizedMatrix {
  const [first] = matrices as [QuantizedMatrix];
  if (matrices.length === 1) return first;
  const rows = matrices.reduce((sum, matrix) => sum + matrix.rows, 0);
  const groups = groupsOf(first);
  const stacked = {
    ...first,
    rows,
    codes: new Uint8Array(rows * first.columns),
    scales: new Float32Array(rows * groups),
    zeros: new Uint8Array(rows * groups),
  };
  let row = 0;
  for (const { rows: count, codes, scales, zeros } of matrices) {
    stacked.codes.set(codes, row * first.columns);
    stacked.scales.set(scales, row * groups);
    stacked.zeros.set(zeros, row * groups);
    row += count;
  }
  return stacked;
}

export function canStack(matrices: readonly QuantizedMatrix[]): boolean {
  const [first] = matrices as [QuantizedMatrix];
  return matrices.every(
    ({ bits, groupSize, order }) =>
      bits === first.bits && groupSize === first.groupSize && order?.join() === first.order?.join(),
  );
}
