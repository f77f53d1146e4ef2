import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import Type from 'typebox';
import type { ModelConfig, QuantizationConfig, WeightDtype, WeightLocation } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { fileMissing, unsupported } from './model-errors.ts';
import { checkJson, readJson } from './read-json.ts';
import { readSafetensorsHeader } from './safetensors.ts';

const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';
const indexSchema = Type.Object({ weight_map: Type.Record(Type.String(), Type.String()) });

/**
 * Where each tensor of the folder lies, in `model.safetensors` or in the shards that its index names.
 * @throws RxllmError `RXLLM_MODEL_FILE_MISSING`, `RXLLM_MODEL_FILE_INVALID`, `RXLLM_MODEL_UNSUPPORTED`
 */
export async function indexWeights(directory: string): Promise<Map<string, WeightLocation>> {
  const sharded = !existsSync(join(directory, SINGLE)) && existsSync(join(directory, INDEX));
  if (!sharded) return readSafetensorsHeader(directory, SINGLE);

  const map = checkJson(indexSchema, await readJson(directory, INDEX), INDEX).weight_map;
  const shards = new Map<string, Map<string, WeightLocation>>();
  for (const file of new Set(Object.values(map))) {
    if (file !== basename(file)) throw invalid(INDEX, `names the shard ${file}, which is outside the model's folder`);
    shards.set(file, await readShard(directory, file));
  }
  const weights = new Map<string, WeightLocation>();
  for (const [name, file] of Object.entries(map)) {
    const location = shards.get(file)!.get(name);
    if (location === undefined) throw invalid(INDEX, `puts tensor ${name} into ${file}, which does not have it`);
    weights.set(name, location);
  }
  return weights;
}

async function readShard(directory: string, file: string): Promise<Map<string, WeightLocation>> {
  try {
    return await readSafetensorsHeader(directory, file);
  } catch (error) {
    const missing = error instanceof RxllmError && error.code === 'RXLLM_MODEL_FILE_MISSING';
    throw missing ? fileMissing(directory, file, `, though ${INDEX} names it`) : error;
  }
}

/** Every tensor that a Llama of this configuration needs, with its shape (`[out, in]` for a projection). */
export function expectedTensors(config: ModelConfig): Map<string, readonly number[]> {
  const { hidden, intermediate, vocab } = config;
  const queryWidth = config.heads * config.headDim;
  const kvWidth = config.kvHeads * config.headDim;
  const tensors = new Map<string, readonly number[]>();
  const linear = (name: string, out: number, input: number, bias: boolean) => {
    tensors.set(`${name}.weight`, [out, input]);
    if (bias) tensors.set(`${name}.bias`, [out]);
  };
  tensors.set('model.embed_tokens.weight', [vocab, hidden]);
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = `model.layers.${layer}`;
    tensors.set(`${prefix}.input_layernorm.weight`, [hidden]);
    linear(`${prefix}.self_attn.q_proj`, queryWidth, hidden, config.attentionBias);
    linear(`${prefix}.self_attn.k_proj`, kvWidth, hidden, config.attentionBias);
    linear(`${prefix}.self_attn.v_proj`, kvWidth, hidden, config.attentionBias);
    linear(`${prefix}.self_attn.o_proj`, hidden, queryWidth, config.attentionBias);
    tensors.set(`${prefix}.post_attention_layernorm.weight`, [hidden]);
    linear(`${prefix}.mlp.gate_proj`, intermediate, hidden, config.mlpBias);
    linear(`${prefix}.mlp.up_proj`, intermediate, hidden, config.mlpBias);
    linear(`${prefix}.mlp.down_proj`, hidden, intermediate, config.mlpBias);
  }
  tensors.set('model.norm.weight', [hidden]);
  if (!config.tiedEmbeddings) tensors.set('lm_head.weight', [vocab, hidden]);
  return tensors;
}

/**
 * @throws RxllmError `RXLLM_MODEL_FILE_INVALID` when a tensor is missing or has another shape than the configuration's,
 * `RXLLM_MODEL_UNSUPPORTED` when one that must be floats is not
 */
export function checkWeights(weights: ReadonlyMap<string, WeightLocation>, config: ModelConfig): void {
  const check = (name: string, shape: readonly number[], dtypes: readonly WeightDtype[]) => {
    const found = weights.get(name);
    if (found === undefined) {
      const files = [...new Set([...weights.values()].map(({ file }) => file))].join(', ') || SINGLE;
      throw invalid(files, `has no tensor ${name}; config.json asks for it with shape [${shape}]`);
    }
    if (found.shape.join() !== shape.join()) {
      throw invalid(found.file, `has tensor ${name} with shape [${found.shape}]; config.json asks for [${shape}]`);
    }
    if (!dtypes.includes(found.dtype)) {
      throw unsupported(found.file, `dtype ${found.dtype} of tensor ${name}`, dtypes.join(', '));
    }
  };
  for (const [name, shape] of expectedTensors(config)) {
    const module = name.replace(/\.weight$/, '');
    // Some modules of a quantized checkpoint keep their floats.
    if (config.quantization === undefined || !weights.has(`${module}.qweight`)) check(name, shape, FLOATS);
    else
      for (const [part, partShape, dtypes] of packedTensors(
        shape,
        config.quantization,
        weights.has(`${module}.g_idx`),
      )) {
        check(`${module}.${part}`, partShape, dtypes);
      }
  }
}

const FLOATS: readonly WeightDtype[] = ['F32', 'F16', 'BF16'];
const PACKED: readonly WeightDtype[] = ['I32'];

/** What a quantized checkpoint has in place of a weight `[out, in]`. */
function packedTensors(
  [out, input]: readonly number[],
  { method, bits, groupSize }: QuantizationConfig,
  hasOrder: boolean,
): (readonly [name: string, shape: readonly number[], dtypes: readonly WeightDtype[]])[] {
  const perWord = 32 / bits;
  const groups = groupSize === 'channel' ? 1 : Math.ceil(input! / groupSize);
  return [
    ['qweight', method === 'gptq' ? [input! / perWord, out!] : [input!, out! / perWord], PACKED],
    ['qzeros', [groups, out! / perWord], PACKED],
    ['scales', [groups, out!], FLOATS],
    ...(hasOrder ? [['g_idx', [input!], PACKED] as const] : []),
  ];
}

function invalid(file: string, problem: string): RxllmError {
  const advice = 'Weights and config.json must come from one model: copy both again.';
  return new RxllmError('RXLLM_MODEL_FILE_INVALID', `${file} ${problem}. ${advice}`);
}
