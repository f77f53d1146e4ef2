import type { GraphSource, KvLayout } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { packBlocks } from '../quant/pack-blocks.ts';
import { canStack, dequantize, type QuantizedMatrix, stackRows } from '../quant/quantized-matrix.ts';
import { readFloats } from '../quant/read-tensor.ts';
import { roundToNearest } from '../quant/round-to-nearest.ts';
import { quantScheme, type SchemeOptions } from '../quant/scheme.ts';
import { EMBEDDINGS, HEAD, type QuantizedWeights } from './graph-weights.ts';
import { llamaSource, type ModelWeights } from './llama-graph.ts';
import type { Edge, OnnxBuilder } from './onnx-builder.ts';
import { type QuantKernel, quantizedLinear } from './quantized-linear.ts';

/** `linear`: the projections of all layers; `head`: lm_head; `embeddings`: the table of the tokens' vectors. */
export type QuantizedPart = 'linear' | 'head' | 'embeddings';

export interface QuantizedOptions extends SchemeOptions {
  /** Default `blocks`. `row-int8` takes 8 bits, a symmetric scale a channel. */
  readonly kernel?: QuantKernel;
  /** Default: the linear layers and the head. */
  readonly parts?: readonly QuantizedPart[];
}

/**
 * A `ModelSlot`: Llama with its weights rounded to the nearest of 16 or 256 values while it is loaded.
 * @throws RxllmError `RXLLM_OPTION_INVALID` for bits, group sizes and kernels that do not go together
 */
export function quantized(options: QuantizedOptions): (model: ModelWeights, layout: KvLayout) => GraphSource {
  const scheme = quantScheme(options);
  const { kernel = 'blocks', parts = ['linear', 'head'] } = options;
  if (kernel === 'row-int8' && (scheme.bits !== 8 || scheme.groupSize !== 'channel' || !scheme.symmetric)) {
    const message = `kernel row-int8 takes bits 8, groupSize channel, symmetric; got bits ${scheme.bits}, groupSize ${scheme.groupSize}, ${scheme.symmetric ? 'symmetric' : 'asymmetric'}`;
    throw new RxllmError('RXLLM_OPTION_INVALID', message, { param: 'kernel' });
  }
  return (model, layout) => {
    const partOf = (module: string, isLookup: boolean): QuantizedPart =>
      isLookup ? 'embeddings' : module === HEAD || module === EMBEDDINGS ? 'head' : 'linear';
    return quantizedSource(model, layout, kernel, (module, isLookup) => {
      const location = model.weights.get(`${module}.weight`);
      if (location === undefined || !parts.includes(partOf(module, isLookup))) return undefined;
      const [rows, columns] = location.shape as [number, number];
      return roundToNearest(readFloats(model.directory, location), rows, columns, scheme);
    });
  };
}

/** The matrix of a module, or undefined where it keeps its floats; `isLookup`: rows are taken from it, as from the embeddings. */
export type MatrixSource = (module: string, isLookup: boolean) => QuantizedMatrix | undefined;

/** The graph over quantized matrices, wherever they are from. They are in memory only while the graph is authored. */
export function quantizedSource(
  model: ModelWeights,
  layout: KvLayout,
  kernel: QuantKernel,
  matrixOf: MatrixSource,
): GraphSource {
  return llamaSource(model, layout, (g) => quantizedWeights(g, kernel, matrixOf));
}

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
