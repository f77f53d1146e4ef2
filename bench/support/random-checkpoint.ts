import { closeSync, existsSync, mkdirSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Model } from '../../src/core/contracts/index.ts';
import { loadConfigAndWeights } from '../../src/core/model/load-model.ts';
import { createRandom } from '../../src/core/sampling/random.ts';
import { TAGGED_CALL } from '../../src/core/text/tool-call-form.ts';

const SMOLLM2_135M = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  vocab_size: 49_152,
  hidden_size: 576,
  intermediate_size: 1536,
  num_hidden_layers: 30,
  num_attention_heads: 9,
  num_key_value_heads: 3,
  head_dim: 64,
  hidden_act: 'silu',
  max_position_embeddings: 8192,
  rms_norm_eps: 1e-5,
  rope_theta: 100_000,
  tie_word_embeddings: true,
  attention_bias: false,
  mlp_bias: false,
};

const DEVIATION = 0.02;
const SEED = 1;

/**
 * A folder with SmolLM2-135M's shape and small random weights, bfloat16 as in the original: for speed, which does not
 * depend on their values. The same bytes each time; written once into the system's folder for temporary files.
 */
export function randomSmolLm(): string {
  const directory = join(tmpdir(), `rxllm-random-smollm2-135m-${SEED}`);
  if (existsSync(join(directory, 'config.json'))) return directory;
  mkdirSync(directory, { recursive: true });
  const partial = join(directory, 'model.safetensors.partial');
  writeWeights(partial, tensors());
  renameSync(partial, join(directory, 'model.safetensors'));
  writeFileSync(join(directory, 'config.json'), JSON.stringify(SMOLLM2_135M));
  return directory;
}

/** That folder as a model that knows token ids and no text. */
export async function randomSmolLmModel(): Promise<Model> {
  const none = () => {
    throw new Error('a model with random weights has no text');
  };
  return {
    ...(await loadConfigAndWeights(randomSmolLm())),
    name: 'random-smollm2-135m',
    tokenizer: {
      encode: none,
      decode: none,
      tokenText: none,
      toolCallForm: TAGGED_CALL,
      vocabulary: () => ({ tokens: [], encoding: 'raw' }),
      applyChatTemplate: none,
      decoder: () => ({ push: () => '', flush: () => '' }),
      vocabSize: SMOLLM2_135M.vocab_size,
      eosIds: new Set(),
    },
    generationDefaults: {},
  };
}

type Shapes = readonly (readonly [name: string, shape: readonly number[]])[];

function tensors(): Shapes {
  const { hidden_size: hidden, intermediate_size: ffn, head_dim: dim, num_attention_heads: heads } = SMOLLM2_135M;
  const kv = SMOLLM2_135M.num_key_value_heads * dim;
  const layers = Array.from({ length: SMOLLM2_135M.num_hidden_layers }, (_, layer): Shapes => {
    const name = (part: string) => `model.layers.${layer}.${part}.weight`;
    return [
      [name('input_layernorm'), [hidden]],
      [name('self_attn.q_proj'), [heads * dim, hidden]],
      [name('self_attn.k_proj'), [kv, hidden]],
      [name('self_attn.v_proj'), [kv, hidden]],
      [name('self_attn.o_proj'), [hidden, heads * dim]],
      [name('post_attention_layernorm'), [hidden]],
      [name('mlp.gate_proj'), [ffn, hidden]],
      [name('mlp.up_proj'), [ffn, hidden]],
      [name('mlp.down_proj'), [hidden, ffn]],
    ];
  });
  return [
    ['model.embed_tokens.weight', [SMOLLM2_135M.vocab_size, hidden]],
    ...layers.flat(),
    ['model.norm.weight', [hidden]],
  ];
}

function writeWeights(path: string, shapes: Shapes): void {
  const sizeOf = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1);
  const header: Record<string, unknown> = {};
  let end = 0;
  for (const [name, shape] of shapes) {
    const start = end;
    end += 2 * sizeOf(shape);
    header[name] = { dtype: 'BF16', shape, data_offsets: [start, end] };
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const file = openSync(path, 'w');
  writeSync(file, length);
  writeSync(file, text);
  const random = createRandom(SEED);
  for (const [, shape] of shapes)
    writeSync(file, new Uint8Array(weights(sizeOf(shape), shape.length > 1, random).buffer));
  closeSync(file);
}

/** The upper halves of float32: norms are 1, matrices uniform around 0. */
function weights(count: number, isMatrix: boolean, random: () => number): Uint16Array {
  const halves = new Uint16Array(count);
  if (!isMatrix) return halves.fill(0x3f80);
  const value = new Float32Array(1);
  const bits = new Uint32Array(value.buffer);
  for (let i = 0; i < count; i++) {
    value[0] = (random() - 0.5) * DEVIATION * Math.sqrt(12);
    halves[i] = bits[0]! >>> 16;
  }
  return halves;
}
