import type { GraphSource, KvLayout, Model, ModelConfig } from '../contracts/index.ts';
import type { AttentionStrategy, CacheWrites } from './attention.ts';
import { contiguousAttention } from './attention-contiguous.ts';
import { noCacheAttention } from './attention-none.ts';
import { pagedAttention } from './attention-paged.ts';
import { NAMES } from './graph-inputs.ts';
import { GraphWeights } from './graph-weights.ts';
import { type Edge, OnnxBuilder } from './onnx-builder.ts';

const ATTENTION: Record<KvLayout, AttentionStrategy> = {
  none: noCacheAttention,
  contiguous: contiguousAttention,
  paged: pagedAttention,
};

/** What a graph is authored from: a model, or a folder without a tokenizer. */
export type ModelWeights = Pick<Model, 'directory' | 'config' | 'weights'>;

/** A `ModelSlot`: Llama with fused ops and float32 arithmetic; the attention follows the layout of the KV pool. */
export function llama(): (model: ModelWeights, layout: KvLayout) => GraphSource {
  return (model, layout) => ({
    layout,
    weightsDirectory: model.directory,
    author: (cacheWrites) => llamaGraph(model, ATTENTION[layout], cacheWrites),
  });
}

/** The transformer. Edges are `[tokens, …]` with tokens = rows × width; attention alone sees rows. */
export function llamaGraph(model: ModelWeights, strategy: AttentionStrategy, cacheWrites: CacheWrites): Uint8Array {
  const { config } = model;
  const g = new OnnxBuilder();
  const weights = new GraphWeights(g, model.weights);
  const { rmsNorm, addAndNorm } = norms(g, weights, config);

  const ids = g.input(NAMES.ids, 'int64', ['tokens']);
  const logitsAt = g.input(NAMES.logitsAt, 'int64', ['wanted']);
  const attention = strategy(g, config, cacheWrites);

  const embeddings = weights.tensor('model.embed_tokens.weight');
  let hidden = g.op('Gather', [embeddings, ids], { axis: 0 });
  let normed = rmsNorm(hidden, 'model.layers.0.input_layernorm');

  for (let layer = 0; layer < config.layers; layer++) {
    const name = `model.layers.${layer}`;
    const self = `${name}.self_attn`;
    const qkv = weights.linear(normed, `${self}.q_proj`, `${self}.k_proj`, `${self}.v_proj`);
    const attended = weights.linear(attention.attend(layer, qkv), `${self}.o_proj`);
    [normed, hidden] = addAndNorm(attended, hidden, `${name}.post_attention_layernorm`);

    const fed = swiglu(g, weights, normed, `${name}.mlp`);
    const isLast = layer === config.layers - 1;
    [normed, hidden] = addAndNorm(fed, hidden, isLast ? 'model.norm' : `model.layers.${layer + 1}.input_layernorm`);
  }
  attention.finish();

  // Few tokens need logits, and the vocabulary is the widest matrix of all.
  const wanted = g.op('Gather', [normed, logitsAt], { axis: 0 });
  const head = config.tiedEmbeddings ? embeddings : weights.tensor('lm_head.weight');
  g.op('Gemm', [wanted, head], { transB: 1 }, NAMES.logits);
  g.output(NAMES.logits, 'float32', ['wanted', config.vocab]);
  return g.build('llama');
}

/** down(silu(gate(x)) × up(x)) (GLU variants, 2020). QuickGelu is x × sigmoid(alpha x), so with alpha 1 it is SiLU. */
function swiglu(g: OnnxBuilder, weights: GraphWeights, x: Edge, mlp: string): Edge {
  const gate = g.microsoftOp('QuickGelu', [weights.linear(x, `${mlp}.gate_proj`)], { alpha: { float: 1 } });
  return weights.linear(g.op('Mul', [gate, weights.linear(x, `${mlp}.up_proj`)]), `${mlp}.down_proj`);
}

/** RMSNorm (2019), alone and fused with the residual addition before it. */
function norms(g: OnnxBuilder, weights: GraphWeights, config: ModelConfig) {
  const epsilon = { float: config.normEps };
  return {
    rmsNorm: (x: Edge, module: string): Edge =>
      g.op('SimplifiedLayerNormalization', [x, weights.tensor(`${module}.weight`)], { axis: -1, epsilon }),

    /** The norm of the sum, and the sum. */
    addAndNorm(x: Edge, residual: Edge, module: string): readonly [Edge, Edge] {
      const outputs = [g.freshName('normed'), g.freshName('hidden')] as const;
      const inputs = [x, residual, weights.tensor(`${module}.weight`)];
      g.microsoftOps('SkipSimplifiedLayerNormalization', inputs, { epsilon }, [outputs[0], '', '', outputs[1]]);
      return outputs;
    },
  };
}
