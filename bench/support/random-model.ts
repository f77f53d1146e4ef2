import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Model, Tokenizer } from '../../src/core/contracts/index.ts';
import { loadConfigAndWeights } from '../../src/core/model/load-model.ts';
import { createRandom } from '../../src/core/sampling/random.ts';
import { TAGGED_CALL } from '../../src/core/text/tool-call-form.ts';

export interface Shape {
  readonly layers: number;
  readonly hidden: number;
  readonly intermediate: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly vocab: number;
}

/** Says nothing, and ends nothing. */
const tokenizer: Tokenizer = {
  encode: () => [],
  decode: () => '',
  tokenText: () => '',
  toolCallForm: TAGGED_CALL,
  vocabulary: () => ({ tokens: [], encoding: 'raw' }),
  applyChatTemplate: () => '',
  decoder: () => ({ push: () => '', flush: () => '' }),
  vocabSize: 0,
  eosIds: new Set(),
};

/** A Llama of this shape with random float16 weights, written into `directory`: for its speed, not for what it says. */
export async function randomModel(directory: string, shape: Shape): Promise<Model> {
  const { layers, hidden, intermediate, heads, kvHeads, headDim, vocab } = shape;
  await mkdir(directory, { recursive: true });
  const config = {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    hidden_act: 'silu',
    num_hidden_layers: layers,
    hidden_size: hidden,
    intermediate_size: intermediate,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    vocab_size: vocab,
    max_position_embeddings: 2048,
    rms_norm_eps: 1e-5,
    rope_theta: 10_000,
    tie_word_embeddings: true,
  };
  const tensors: [string, number[]][] = [
    ['model.embed_tokens.weight', [vocab, hidden]],
    ['model.norm.weight', [hidden]],
  ];
  for (let layer = 0; layer < layers; layer++) {
    const add = (name: string, ...size: number[]) => tensors.push([`model.layers.${layer}.${name}.weight`, size]);
    add('input_layernorm', hidden);
    add('post_attention_layernorm', hidden);
    add('self_attn.q_proj', heads * headDim, hidden);
    add('self_attn.k_proj', kvHeads * headDim, hidden);
    add('self_attn.v_proj', kvHeads * headDim, hidden);
    add('self_attn.o_proj', hidden, heads * headDim);
    add('mlp.gate_proj', intermediate, hidden);
    add('mlp.up_proj', intermediate, hidden);
    add('mlp.down_proj', hidden, intermediate);
  }
  await write(join(directory, 'config.json'), [new TextEncoder().encode(JSON.stringify(config))]);
  await write(join(directory, 'model.safetensors'), safetensors(tensors));
  return { ...(await loadConfigAndWeights(directory)), tokenizer, generationDefaults: {} };
}

function* safetensors(tensors: readonly (readonly [string, readonly number[]])[]): Generator<Uint8Array> {
  const header: Record<string, object> = {};
  let offset = 0;
  const lengths = tensors.map(([name, shape]) => {
    const length = shape.reduce((a, b) => a * b, 1);
    header[name] = { dtype: 'F16', shape, data_offsets: [offset, offset + 2 * length] };
    offset += 2 * length;
    return length;
  });
  const json = new TextEncoder().encode(JSON.stringify(header));
  yield new Uint8Array(BigUint64Array.of(BigInt(json.length)).buffer);
  yield json;
  const random = createRandom(1);
  for (const length of lengths) {
    // Any sign and mantissa, with an exponent of 2⁻⁷ to 2⁻⁴: small, and never a special value.
    const bits = new Uint16Array(length);
    for (let i = 0; i < length; i++) {
      const r = Math.floor(random() * 2 ** 13);
      bits[i] = ((r & 1) << 15) | ((8 + ((r >> 1) & 3)) << 10) | (r >> 3);
    }
    yield new Uint8Array(bits.buffer);
  }
}

async function write(path: string, parts: Iterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'w');
  for (const part of parts) await file.write(part);
  await file.close();
}
