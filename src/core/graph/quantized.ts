import type { GraphSource, KvLayout } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { checkpointMatrix } from '../quant/checkpoint-matrix.ts';
import { readFloats } from '../quant/read-tensor.ts';
import { roundToNearest } from '../quant/round-to-nearest.ts';
import { quantScheme, type SchemeOptions } from '../quant/scheme.ts';
import { checkRowInt8 } from './check-row-int8.ts';
import { EMBEDDINGS, HEAD } from './graph-weights.ts';
import { llamaSource, type ModelWeights } from './llama-graph.ts';
import type { QuantKernel } from './quantized-linear.ts';
import { type MatrixSource, quantizedWeights } from './quantized-weights.ts';

export type { MatrixSource };

/** `linear`: the projections of all layers; `head`: lm_head; `embeddings`: the table of the tokens' vectors. */
export type QuantizedPart = 'linear' | 'head' | 'embeddings';

export interface QuantizedOptions extends SchemeOptions {
  /** Default `blocks`. `row-int8` takes 8 bits, a symmetric scale a channel. */
  readonly kernel?: QuantKernel;
  /** Default: the linear layers and the head. */
  readonly parts?: readonly QuantizedPart[];
}

/**
 * A `ModelSlot`: Llama with its weights rounded to the nearest of 16 or 256 values while it is loaded; what a
 * checkpoint has quantized already is taken as it is.
 * @throws RxllmError `RXLLM_OPTION_INVALID` for bits, group sizes and kernels that do not go together; the slot itself throws
 * it for a checkpoint that the kernel does not take
 */
export function quantized(options: QuantizedOptions): (model: ModelWeights, layout: KvLayout) => GraphSource {
  const scheme = quantScheme(options);
  const { kernel = 'blocks', parts = ['linear', 'head'] } = options;
  if (kernel === 'row-int8' && (scheme.bits !== 8 || scheme.groupSize !== 'channel' || !scheme.symmetric)) {
    const message = `kernel row-int8 takes bits 8, groupSize channel, symmetric; got bits ${scheme.bits}, groupSize ${scheme.groupSize}, ${scheme.symmetric ? 'symmetric' : 'asymmetric'}`;
    throw new RxllmError('RXLLM_OPTION_INVALID', message, { param: 'kernel' });
  }
  return (model, layout) => {
    if (kernel === 'row-int8') checkRowInt8(model);
    const partOf = (module: string, isLookup: boolean): QuantizedPart =>
      isLookup ? 'embeddings' : module === HEAD || module === EMBEDDINGS ? 'head' : 'linear';
    return quantizedSource(model, layout, kernel, (module, isLookup) => {
      const stored = checkpointMatrix(model, module);
      if (stored !== undefined) return stored;
      const location = model.weights.get(`${module}.weight`);
      if (location === undefined || !parts.includes(partOf(module, isLookup))) return undefined;
      const [rows, columns] = location.shape as [number, number];
      return roundToNearest(readFloats(model.directory, location), rows, columns, scheme);
    });
  };
}

/** The graph over quantized matrices. */
export function quantizedSource(
  model: ModelWeights,
  layout: KvLayout,
  kernel: QuantKernel,
  matrixOf: MatrixSource,
): GraphSource {
  return llamaSource(model, layout, (g) => quantizedWeights(g, kernel, matrixOf));
}
