import type { GraphSource, KvLayout } from '../../contracts/index.ts';
import { RxllmError } from '../../errors.ts';
import { NAMES } from '../graph-inputs.ts';
import { GraphWeights } from '../graph-weights.ts';
import type { ModelWeights } from '../llama-graph.ts';
import { type Edge, OnnxBuilder } from '../onnx-builder.ts';
import { embedding } from './embedding.ts';
import { rmsNorm } from './rms-norm.ts';
import { selfAttention } from './self-attention.ts';
import { swiglu } from './swiglu.ts';

/**
 * A `ModelSlot`: Llama out of ONNX's primitive operators, without a cache.
 * It throws RxllmError `RXLLM_RECIPE_INVALID` under a layout with one.
 */
export function primitives(): (model: ModelWeights, layout: KvLayout) => GraphSource {
  return (model, layout) => {
    if (layout !== 'none') {
      throw new RxllmError(
        'RXLLM_RECIPE_INVALID',
        `The graph of primitives() has no KV cache, but the recipe's kv has layout "${layout}": use noCache(), or model: llama().`,
      );
    }
    return { layout, weightsDirectory: model.directory, author: () => transformer(model) };
  };
}

/** ids `[rows × width]` → logits `[wanted, vocab]`. Between them every token is a vector `[hidden]` that each layer adds to. */
export function transformer(model: ModelWeights): Uint8Array {
  const { config } = model;
  const g = new OnnxBuilder();
  const weights = new GraphWeights(g, model.weights);
  const norm = (x: Edge, module: string) => rmsNorm(g, x, weights.tensor(`${module}.weight`), config.normEps);
  const ids = g.input(NAMES.ids, 'int64', ['tokens']);
  const logitsAt = g.input(NAMES.logitsAt, 'int64', ['wanted']);
  const attend = selfAttention(g, weights, config);

  const table = weights.tensor('model.embed_tokens.weight');
  let hidden = embedding(g, ids, table);
  for (let layer = 0; layer < config.layers; layer++) {
    const name = `model.layers.${layer}`;
    hidden = g.op('Add', [hidden, attend(norm(hidden, `${name}.input_layernorm`), `${name}.self_attn`)]);
    const normed = norm(hidden, `${name}.post_attention_layernorm`);
    const fed = swiglu(
      g,
      weights.linear(normed, `${name}.mlp.gate_proj`),
      weights.linear(normed, `${name}.mlp.up_proj`),
    );
    hidden = g.op('Add', [hidden, weights.linear(fed, `${name}.mlp.down_proj`)]);
  }

  // lm_head: how well the vector of each wanted token agrees with each token of the vocabulary.
  const wanted = g.op('Gather', [norm(hidden, 'model.norm'), logitsAt], { axis: 0 });
  const head = config.tiedEmbeddings ? table : weights.tensor('lm_head.weight');
  g.op('Gemm', [wanted, head], { transB: 1 }, NAMES.logits);
  g.output(NAMES.logits, 'float32', ['wanted', config.vocab]);
  return g.build('transformer');
}
