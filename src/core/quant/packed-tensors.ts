import type { QuantizationConfig } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { groupsOf, type QuantizedMatrix } from './quantized-matrix.ts';

/** A matrix as GPTQ and AWQ checkpoints store it: codes in 32-bit words, everything but the codes by group. */
export interface PackedTensors {
  /** gptq: `[in / perWord, out]`; awq: `[in, out / perWord]`. */
  readonly qweight: Int32Array;
  /** `[groups, out / perWord]` */
  readonly qzeros: Int32Array;
  /** `[groups, out]` */
  readonly scales: Float32Array;
  /** The group of each input `[in]`; absent where inputs are grouped in their order. */
  readonly groupOfInput?: Int32Array;
}

export interface MatrixShape {
  readonly rows: number;
  readonly columns: number;
}

/** Which of eight neighbours each nibble of AWQ's words holds, from the lowest up. */
const AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7] as const;

/**
 * The same codes, zeros and scales, `[out, in]`. With act-order the columns of a group are brought together, and `order`
 * says which inputs they take.
 * @throws RxllmError `RXLLM_MODEL_FILE_INVALID` when groups have other sizes than the configuration's
 */
export function unpack(
  { qweight, qzeros, scales, groupOfInput }: PackedTensors,
  { rows, columns }: MatrixShape,
  { method, bits, groupSize: size, zeroOffset }: QuantizationConfig,
): QuantizedMatrix {
  const groupSize = size === 'channel' ? columns : size;
  const groups = Math.ceil(columns / groupSize);
  const order = groupOfInput && orderByGroup(groupOfInput, groupSize);
  const perWord = 32 / bits;
  const mask = 2 ** bits - 1;
  const matrix = {
    rows,
    columns,
    bits,
    groupSize,
    codes: new Uint8Array(rows * columns),
    scales: new Float32Array(rows * groups),
    zeros: new Uint8Array(rows * groups),
    ...(order && { order }),
  };
  const nibbleOf = method === 'awq' ? AWQ_ORDER.map((_, place) => AWQ_ORDER.indexOf(place as 0)) : undefined;
  /** The code of an output in words of neighbouring outputs. */
  const alongRow = (words: Int32Array, row: number, output: number) => {
    const place = output % perWord;
    const word = words[row * (rows / perWord) + Math.floor(output / perWord)]!;
    return (word >>> (bits * (nibbleOf?.[place] ?? place))) & mask;
  };
  for (let row = 0; row < rows; row++) {
    for (let group = 0; group < groups; group++) {
      matrix.scales[row * groups + group] = scales[group * rows + row]!;
      // A zero of 0 is stored less 1 as all ones, and comes back by the same wrapping.
      matrix.zeros[row * groups + group] = (alongRow(qzeros, group, row) + zeroOffset) & mask;
    }
    for (let column = 0; column < columns; column++) {
      const input = order === undefined ? column : order[column]!;
      matrix.codes[row * columns + column] =
        method === 'awq'
          ? alongRow(qweight, input, row)
          : (qweight[Math.floor(input / perWord) * rows + row]! >>> (bits * (input % perWord))) & mask;
    }
  }
  return matrix;
}

/** Inputs sorted by group, or undefined where they already are. */
function orderByGroup(groupOfInput: Int32Array, groupSize: number): Int32Array | undefined {
  const order = Int32Array.from(groupOfInput, (_, input) => input).sort(
    (a, b) => groupOfInput[a]! - groupOfInput[b]! || a - b,
  );
  for (const [column, input] of order.entries()) {
    if (groupOfInput[input] === Math.floor(column / groupSize)) continue;
    const message = `g_idx puts input ${input} into group ${groupOfInput[input]}, and the groups have not ${groupSize} inputs each`;
    throw new RxllmError('RXLLM_MODEL_FILE_INVALID', `${message}: copy the model again from its source.`);
  }
  return order.every((input, column) => input === column) ? undefined : order;
}

/** As GPTQ stores it. The columns are in the order of the inputs, and both sides are multiples of 32 / bits. */
export function packGptq(
  matrix: QuantizedMatrix,
  zeroOffset: 0 | 1,
): PackedTensors & { readonly groupOfInput: Int32Array } {
  const { rows, columns, bits, groupSize, codes, zeros } = matrix;
  const groups = groupsOf(matrix);
  const perWord = 32 / bits;
  const mask = 2 ** bits - 1;
  const qweight = new Int32Array((columns / perWord) * rows);
  const qzeros = new Int32Array(groups * (rows / perWord));
  const scales = new Float32Array(groups * rows);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      qweight[Math.floor(column / perWord) * rows + row]! |=
        codes[row * columns + column]! << (bits * (column % perWord));
    }
    for (let group = 0; group < groups; group++) {
      const zero = (zeros[row * groups + group]! - zeroOffset) & mask;
      qzeros[group * (rows / perWord) + Math.floor(row / perWord)]! |= zero << (bits * (row % perWord));
      scales[group * rows + row] = matrix.scales[row * groups + group]!;
    }
  }
  const groupOfInput = Int32Array.from({ length: columns }, (_, column) => Math.floor(column / groupSize));
  return { qweight, qzeros, scales, groupOfInput };
}
