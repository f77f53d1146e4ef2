import type { ModelConfig } from '../contracts/index.ts';
import type { Attention } from './attention.ts';
import type { GraphWeights } from './graph-weights.ts';
import type { Edge, OnnxBuilder } from './onnx-builder.ts';

/**
 * A layer from its normed input and the residual stream beside it: what its feed-forward part is to add, and the stream
 * after attention. The sum is the next layer's, whose norm is fused with it.
 */
export function decoderLayer(g: OnnxBuilder, weights: GraphWeights, config: ModelConfig, attention: Attention) {
  const { addAndNorm } = norms(g, weights, config);
  return (layer: number, normed: Edge, hidden: Edge): { readonly fed: Edge; readonly attended: Edge } => {
    const name = `model.layers.${layer}`;
    const self = `${name}.self_attn`;
    const qkv = weights.linear(normed, `${self}.q_proj`, `${self}.k_proj`, `${self}.v_proj`);
    const mixed = weights.linear(attention.attend(layer, qkv), `${self}.o_proj`);
    const [toFeed, attended] = addAndNorm(mixed, hidden, `${name}.post_attention_layernorm`);
    return { fed: swiglu(g, weights, toFeed, `${name}.mlp`), attended };
  };
}

/** down(silu(gate(x)) × up(x)) (GLU variants, 2020). QuickGelu is x × sigmoid(alpha x), so with alpha 1 it is SiLU. */
function swiglu(g: OnnxBuilder, weights: GraphWeights, x: Edge, mlp: string): Edge {
  const gate = g.microsoftOp('QuickGelu', [weights.linear(x, `${mlp}.gate_proj`)], { alpha: { float: 1 } });
  return weights.linear(g.op('Mul', [gate, weights.linear(x, `${mlp}.up_proj`)]), `${mlp}.down_proj`);
}

/** RMSNorm (2019), alone and fused with the residual addition before it. */
export function norms(g: OnnxBuilder, weights: GraphWeights, config: ModelConfig) {
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
