import { packBlocks } from '../quant/pack-blocks.ts';
import { canStack, dequantize, type QuantizedMatrix, stackRows } from '../quant/quantized-matrix.ts';
import { EMBEDDINGS, type QuantizedWeights } from './graph-weights.ts';
import type { Edge, OnnxBuilder } from './onnx-builder.ts';
import { type QuantKernel, quantizedLinear } from './quantized-linear.ts';

/** The matrix of a module, or undefined where it keeps its floats; `isLookup`: rows are taken from it, as from the embeddings. */
export type MatrixSource = (module: string, isLookup: boolean) => QuantizedMatrix | undefined;

/** Matrices, wherever they are from, by one kernel. They are in memory only while the graph is authored. */
export function quantizedWeights(g: OnnxBuilder, kernel: QuantKernel, matrixOf: MatrixSource): QuantizedWeights {
  const multiply = quantizedLinear(g, kernel);
  return {
    linear(x, modules, output) {
      const matrices = modules.map((module) => matrixOf(module, false));
      if (!matrices.every((matrix) => matrix !== undefined)) return undefined;
      if (canStack(matrices)) return multiply(x, modules.join('+'), stackRows(matrices), output);
      const products = matrices.map((matrix, i) => multiply(x, modules[i]!, matrix));
      return g.op('Concat', products, { axis: -1 });
    },
    embed(ids) {
      const matrix = matrixOf(EMBEDDINGS, true);
      return matrix && lookUp(g, kernel, ids, matrix);
    },
  };
}

/** ids `[tokens]` → `[tokens, columns]`: rows of the matrix, as floats. */
function lookUp(g: OnnxBuilder, kernel: QuantKernel, ids: Edge, matrix: QuantizedMatrix): Edge {
  const { rows, columns, bits } = matrix;
  const name = `${EMBEDDINGS}.lookup`;
  if (kernel === 'float')
    return g.op('Gather', [g.tensor(name, [rows, columns], dequantize(matrix)), ids], { axis: 0 });
  const { blockSize, blocks, data, scales, zeros } = packBlocks(matrix);
  const inputs = [
    g.tensor(`${name}.codes`, [rows, data.length / rows], data),
    ids,
    g.tensor(`${name}.scales`, [rows, blocks], scales),
  ];
  if (zeros !== undefined) inputs.push(g.tensor(`${name}.zeros`, [rows, zeros.length / rows], zeros));
  const attributes = { gather_axis: 0, quantize_axis: 1, block_size: blockSize, bits };
  return g.microsoftOp('GatherBlockQuantized', inputs, attributes);
}
