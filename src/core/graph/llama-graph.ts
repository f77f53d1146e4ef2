import { setImmediate } from 'node:timers/promises';
import type { GraphSource, KvLayout, Model } from '../contracts/index.ts';
import { checkpointMatrix } from '../quant/checkpoint-matrix.ts';
import type { AttentionStrategy, CacheWrites } from './attention.ts';
import { contiguousAttention } from './attention-contiguous.ts';
import { noCacheAttention } from './attention-none.ts';
import { pagedAttention } from './attention-paged.ts';
import { regionAttention } from './attention-regions.ts';
import { decoderLayer, norms } from './decoder-layer.ts';
import { flashAttention } from './flash-attention.ts';
import { NAMES } from './graph-inputs.ts';
import { GraphWeights, type QuantizedWeights } from './graph-weights.ts';
import { scoreMatrix } from './grouped-attention.ts';
import { OnnxBuilder } from './onnx-builder.ts';
import { quantizedWeights } from './quantized-weights.ts';

/** How attention is computed. `fused`: by ONNX Runtime's own operator where the layout has one, else as `naive`. */
export type AttentionVariant = 'fused' | 'naive' | 'flash';

const ATTENTION: Record<AttentionVariant, Record<KvLayout, AttentionStrategy>> = {
  fused: {
    none: noCacheAttention(scoreMatrix),
    contiguous: contiguousAttention,
    paged: pagedAttention(scoreMatrix),
  },
  naive: {
    none: noCacheAttention(scoreMatrix),
    contiguous: regionAttention(scoreMatrix, 'written'),
    paged: pagedAttention(scoreMatrix),
  },
  flash: {
    none: noCacheAttention(flashAttention),
    contiguous: regionAttention(flashAttention, 'whole'),
    paged: pagedAttention(flashAttention),
  },
};

/** What a graph is authored from: a model, or a folder without a tokenizer. */
export type ModelWeights = Pick<Model, 'directory' | 'config' | 'weights'>;

export interface LlamaOptions {
  /** Default `fused`. */
  readonly attention?: AttentionVariant;
}

/**
 * A `ModelSlot`: Llama with fused ops and float32 arithmetic; the attention follows the layout of the KV pool. Of a
 * quantized checkpoint the linear layers are computed as it stores them.
 */
export function llama({
  attention = 'fused',
}: LlamaOptions = {}): (model: ModelWeights, layout: KvLayout) => GraphSource {
  return (model, layout) => {
    const quantized = (g: OnnxBuilder) => quantizedWeights(g, 'blocks', (module) => checkpointMatrix(model, module));
    return llamaSource(model, layout, quantized, attention);
  };
}

/** The graph under a layout; of `quantized`, the weights are made each time that it is authored. */
export function llamaSource(
  model: ModelWeights,
  layout: KvLayout,
  quantized?: (g: OnnxBuilder) => QuantizedWeights,
  attention: AttentionVariant = 'fused',
): GraphSource {
  return {
    layout,
    weightsDirectory: model.directory,
    author: (cacheWrites) => llamaGraph(model, ATTENTION[attention][layout], cacheWrites, quantized),
  };
}

/**
 * The transformer. Edges are `[tokens, …]` with tokens = rows × width; attention alone sees rows. The event loop turns
 * between the layers, for to quantize one takes tens of milliseconds.
 */
export async function llamaGraph(
  model: ModelWeights,
  strategy: AttentionStrategy,
  cacheWrites: CacheWrites,
  quantized?: (g: OnnxBuilder) => QuantizedWeights,
): Promise<Uint8Array> {
  const { config } = model;
  const g = new OnnxBuilder();
  const weights = new GraphWeights(g, model.weights, quantized?.(g));
  const { rmsNorm, addAndNorm } = norms(g, weights, config);

  const ids = g.input(NAMES.ids, 'int64', ['tokens']);
  const logitsAt = g.input(NAMES.logitsAt, 'int64', ['wanted']);
  const attention = strategy(g, config, cacheWrites);
  const decoder = decoderLayer(g, weights, config, attention);

  let hidden = weights.embed(ids);
  let normed = rmsNorm(hidden, 'model.layers.0.input_layernorm');

  for (let layer = 0; layer < config.layers; layer++) {
    await setImmediate();
    const { fed, attended } = decoder(layer, normed, hidden);
    const isLast = layer === config.layers - 1;
    [normed, hidden] = addAndNorm(fed, attended, isLast ? 'model.norm' : `model.layers.${layer + 1}.input_layernorm`);
  }
  attention.finish();
  await setImmediate();

  // Few tokens need logits, and the vocabulary is the widest matrix of all.
  const wanted = g.op('Gather', [normed, logitsAt], { axis: 0 });
  weights.head(wanted, config.tiedEmbeddings, NAMES.logits);
  g.output(NAMES.logits, 'float32', ['wanted', config.vocab]);
  return g.build('llama');
}
