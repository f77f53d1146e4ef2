import { noCacheAttention } from './attention-none.ts';
import { decoderLayer, norms } from './decoder-layer.ts';
import { GraphWeights, type QuantizedWeights } from './graph-weights.ts';
import { scoreMatrix } from './grouped-attention.ts';
import type { ModelWeights } from './llama-graph.ts';
import { OnnxBuilder } from './onnx-builder.ts';

export const HIDDEN_IN = 'hidden_in';
export const HIDDEN_OUT = 'hidden_out';

/**
 * One layer alone: `hidden_in [rows × width, hidden]` and the positions in, `hidden_out` out. Its rows are whole sequences,
 * as without a cache.
 */
export function llamaLayerGraph(
  model: ModelWeights,
  layer: number,
  quantized: (g: OnnxBuilder) => QuantizedWeights,
): Uint8Array {
  const { config } = model;
  const g = new OnnxBuilder();
  const weights = new GraphWeights(g, model.weights, quantized(g));
  const hidden = g.input(HIDDEN_IN, 'float32', ['tokens', config.hidden]);
  const attention = noCacheAttention(scoreMatrix)(g, config, 'returned');
  const normed = norms(g, weights, config).rmsNorm(hidden, `model.layers.${layer}.input_layernorm`);
  const { fed, attended } = decoderLayer(g, weights, config, attention)(layer, normed, hidden);
  g.op('Add', [fed, attended], {}, HIDDEN_OUT);
  g.output(HIDDEN_OUT, 'float32', ['tokens', config.hidden]);
  return g.build('llama layer');
}
