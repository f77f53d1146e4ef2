import { packBlocks } from '../quant/pack-blocks.ts';
import { dequantize, type QuantizedMatrix } from '../quant/quantized-matrix.ts';
import { checkRowInt8Matrix } from './check-row-int8.ts';
import type { Edge, OnnxBuilder } from './onnx-builder.ts';
import { ONNX_DTYPE } from './onnx-schema.ts';

/**
 * Which kernel multiplies by quantized weights; fixed for a whole engine, so that a row's result never depends on its batch.
 *
 * `blocks`: MatMulNBits at accuracy level 4: activations become 8-bit numbers a block, and products are whole numbers.
 * `row-int8`: MatMulInteger: one scale a row of activations and one a row of weights, the fastest for many rows at once.
 * `float`: the weights as floats again, no faster and no smaller: what the rounding of weights alone does to a model.
 */
export type QuantKernel = 'blocks' | 'row-int8' | 'float';

/** x `[tokens, columns]` → `[tokens, rows]` by a matrix that is stored in the graph under `name`. */
export type QuantizedLinear = (x: Edge, name: string, matrix: QuantizedMatrix, output?: Edge) => Edge;

export function quantizedLinear(g: OnnxBuilder, kernel: QuantKernel): QuantizedLinear {
  switch (kernel) {
    case 'blocks':
      return blocksLinear(g);
    case 'row-int8':
      return rowInt8Linear(g);
    case 'float':
      return (x, name, matrix, output) => {
        const weights = g.tensor(name, [matrix.rows, matrix.columns], dequantize(matrix));
        return g.op('Gemm', [x, weights], { transB: 1 }, output);
      };
  }
}

/** The activations are rounded to 8 bits within each block, and multiplied as such. */
const INTEGER_PRODUCTS = 4;

function blocksLinear(g: OnnxBuilder): QuantizedLinear {
  const reordered = new Map<string, Edge>();
  /** The inputs in the order of the columns; modules that share an input mostly share their order as well. */
  const inOrder = (x: Edge, order: Int32Array): Edge => {
    const key = `${x} ${order.join()}`;
    const edge = reordered.get(key) ?? g.op('Gather', [x, g.int64([...order])], { axis: 1 });
    reordered.set(key, edge);
    return edge;
  };
  return (x, name, matrix, output = g.freshName('MatMulNBits')) => {
    const { rows, columns, bits, order } = matrix;
    const { blockSize, blocks, data, scales, zeros } = packBlocks(matrix);
    const inputs = [
      order === undefined ? x : inOrder(x, order),
      g.tensor(`${name}.codes`, [rows, blocks, (blockSize * bits) / 8], data),
      g.tensor(`${name}.scales`, [rows, blocks], scales),
    ];
    if (zeros !== undefined) inputs.push(g.tensor(`${name}.zeros`, [rows, zeros.length / rows], zeros));
    const attributes = { K: columns, N: rows, bits, block_size: blockSize, accuracy_level: INTEGER_PRODUCTS };
    g.microsoftOps('MatMulNBits', inputs, attributes, [output]);
    return output;
  };
}

/** Signed activations would be 10 to 40 times slower. */
const ACTIVATION_ZERO = 128;
const ACTIVATION_MAX = 127;
/** Keeps a row of zeros from being divided by 0. */
const LEAST_SCALE = 1e-8;

/** LLM.int8() (2022) without outliers: `x ≈ codes × scale` for each row, products of whole numbers, scaled back. */
function rowInt8Linear(g: OnnxBuilder): QuantizedLinear {
  const zero = g.tensor('activation_zero', [], Uint8Array.of(ACTIVATION_ZERO));
  const rounded = new Map<Edge, { readonly codes: Edge; readonly scales: Edge }>();
  const round = (x: Edge) => {
    const largest = g.op('ReduceMax', [g.op('Abs', [x]), g.int64([-1])], { keepdims: 1 });
    const scales = g.op('Add', [g.op('Mul', [largest, g.float32(1 / ACTIVATION_MAX)]), g.float32(LEAST_SCALE)]);
    const shifted = g.op('Add', [g.op('Round', [g.op('Div', [x, scales])]), g.float32(ACTIVATION_ZERO)]);
    return { codes: g.op('Cast', [shifted], { to: ONNX_DTYPE.uint8 }), scales };
  };
  return (x, name, matrix, output) => {
    checkRowInt8Matrix(name, matrix);
    const known = rounded.get(x) ?? round(x);
    rounded.set(x, known);
    const { rows, columns } = matrix;
    const weights = g.tensor(`${name}.codes`, [columns, rows], transposedInt8(matrix));
    const products = g.op('Cast', [g.op('MatMulInteger', [known.codes, weights, zero])], { to: ONNX_DTYPE.float32 });
    const rowScales = g.tensor(`${name}.scales`, [rows], matrix.scales);
    return g.op('Mul', [g.op('Mul', [products, known.scales]), rowScales], {}, output);
  };
}

/** Code − zero as signed bytes, `[columns, rows]`; the zero is the middle code, 128 as well. */
function transposedInt8({ rows, columns, codes }: QuantizedMatrix): Int8Array {
  const transposed = new Int8Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      transposed[column * rows + row] = codes[row * columns + column]! - ACTIVATION_ZERO;
    }
  }
  return transposed;
}
