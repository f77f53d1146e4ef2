import Type, { type Static } from 'typebox';
import type { ModelConfig } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { unsupported } from './model-errors.ts';
import { parseQuantization } from './quantization-config.ts';
import { checkJson } from './read-json.ts';
import { parseRope } from './rope-config.ts';

const size = Type.Integer({ minimum: 1 });
const rope = Type.Optional(Type.Record(Type.String(), Type.Unknown()));

const configSchema = Type.Object({
  num_hidden_layers: size,
  hidden_size: size,
  intermediate_size: size,
  num_attention_heads: size,
  num_key_value_heads: Type.Optional(size),
  head_dim: Type.Optional(size),
  vocab_size: size,
  max_position_embeddings: size,
  rms_norm_eps: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  hidden_act: Type.Optional(Type.String()),
  attention_bias: Type.Optional(Type.Boolean()),
  mlp_bias: Type.Optional(Type.Boolean()),
  tie_word_embeddings: Type.Optional(Type.Boolean()),
  rope_theta: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  rope_scaling: rope,
  rope_parameters: rope,
  partial_rotary_factor: Type.Optional(Type.Number()),
  quantization_config: Type.Optional(Type.Unknown()),
});
type RawConfig = Static<typeof configSchema>;

const architectureSchema = Type.Object({
  architectures: Type.Optional(Type.Array(Type.String())),
  model_type: Type.Optional(Type.String()),
});

/**
 * `config.json` of a LlamaForCausalLM, as transformers 4 and 5 write it.
 * @throws RxllmError `RXLLM_MODEL_FILE_INVALID`, `RXLLM_MODEL_UNSUPPORTED`
 */
export function parseConfig(json: unknown, file: string): ModelConfig {
  checkArchitecture(json, file);
  const raw = checkJson(configSchema, json, file);
  const heads = raw.num_attention_heads;
  const kvHeads = raw.num_key_value_heads ?? heads;
  if (heads % kvHeads !== 0) {
    throw invalid(file, `num_attention_heads (${heads}) must be a multiple of num_key_value_heads (${kvHeads})`);
  }
  const headDim = raw.head_dim ?? raw.hidden_size / heads;
  if (!Number.isInteger(headDim)) {
    throw invalid(file, `hidden_size (${raw.hidden_size}) must be a multiple of num_attention_heads (${heads})`);
  }
  if (headDim % 2 !== 0) throw invalid(file, `head_dim must be even for rotary embedding, found ${headDim}`);
  checkSupported(raw, file);
  const quantization = parseQuantization(raw.quantization_config, file);
  return {
    architecture: 'LlamaForCausalLM',
    layers: raw.num_hidden_layers,
    hidden: raw.hidden_size,
    intermediate: raw.intermediate_size,
    heads,
    kvHeads,
    headDim,
    vocab: raw.vocab_size,
    maxPositions: raw.max_position_embeddings,
    normEps: raw.rms_norm_eps ?? 1e-6,
    rope: parseRope(raw, file),
    attentionBias: raw.attention_bias ?? false,
    mlpBias: raw.mlp_bias ?? false,
    tiedEmbeddings: raw.tie_word_embeddings ?? false,
    ...(quantization && { quantization }),
  };
}

function checkArchitecture(json: unknown, file: string): void {
  const { architectures, model_type: modelType } = checkJson(architectureSchema, json, file);
  const architecture = architectures?.[0] ?? (modelType === 'llama' ? 'LlamaForCausalLM' : modelType);
  if (architecture === undefined) throw invalid(file, 'neither architectures nor model_type is given');
  if (architecture !== 'LlamaForCausalLM') throw unsupported(file, `architecture ${architecture}`, 'LlamaForCausalLM');
}

function checkSupported(raw: RawConfig, file: string): void {
  const activation = raw.hidden_act ?? 'silu';
  if (activation !== 'silu') throw unsupported(file, `hidden_act ${activation}`, 'silu');
  if ((raw.partial_rotary_factor ?? 1) !== 1) {
    throw unsupported(file, `partial_rotary_factor ${raw.partial_rotary_factor}`, '1');
  }
}

function invalid(file: string, problem: string): RxllmError {
  return new RxllmError('RXLLM_MODEL_FILE_INVALID', `${file}: ${problem}.`);
}
