import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Model } from '../../src/core/contracts/index.ts';
import { parseConfig } from '../../src/core/model/config.ts';
import { loadConfigAndWeights } from '../../src/core/model/load-model.ts';
import { expectedTensors } from '../../src/core/model/weights.ts';
import { type TensorToWrite, writeSafetensors } from '../../src/core/model/write-safetensors.ts';
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
  readonly maxPositions: number;
}

export const SMOLLM2_135M: Shape = {
  layers: 30,
  hidden: 576,
  intermediate: 1536,
  heads: 9,
  kvHeads: 3,
  headDim: 64,
  vocab: 49_152,
  maxPositions: 8192,
};

const DEVIATION = 0.02;
const SEED = 1;

/** SmolLM2-135M's shape, written once into the system's folder for temporary files. */
export async function randomSmolLm(): Promise<string> {
  const directory = join(tmpdir(), `rxllm-random-smollm2-135m-${SEED}`);
  if (!existsSync(join(directory, 'config.json'))) await writeRandomModel(directory, SMOLLM2_135M);
  return directory;
}

export async function randomSmolLmModel(): Promise<Model> {
  return { ...(await loadWithoutText(await randomSmolLm())), name: 'random-smollm2-135m' };
}

/** A Llama of this shape, written into `directory`. */
export async function randomModel(directory: string, shape: Shape): Promise<Model> {
  await writeRandomModel(directory, shape);
  return loadWithoutText(directory);
}

/**
 * Small random weights in bfloat16, the same bytes each time: for a model's speed, which does not depend on their values.
 * `config.json` comes last, so that a folder that has it is whole.
 */
export async function writeRandomModel(directory: string, shape: Shape): Promise<void> {
  const config = configOf(shape);
  const random = createRandom(SEED);
  const tensors = [...expectedTensors(parseConfig(config, 'config.json'))].map(
    ([name, size]): [string, TensorToWrite] => {
      const count = size.reduce((product, length) => product * length, 1);
      return [name, { dtype: 'BF16', shape: size, data: weights(count, size.length > 1, random) }];
    },
  );
  await mkdir(directory, { recursive: true });
  await writeSafetensors(directory, 'model.safetensors', new Map(tensors));
  await writeFile(join(directory, 'config.json'), JSON.stringify(config));
}

const configOf = (shape: Shape) => ({
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_act: 'silu',
  num_hidden_layers: shape.layers,
  hidden_size: shape.hidden,
  intermediate_size: shape.intermediate,
  num_attention_heads: shape.heads,
  num_key_value_heads: shape.kvHeads,
  head_dim: shape.headDim,
  vocab_size: shape.vocab,
  max_position_embeddings: shape.maxPositions,
  rms_norm_eps: 1e-5,
  rope_theta: 100_000,
  tie_word_embeddings: true,
});

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

/** The folder as a model that knows token ids and no text; no token ends one. */
async function loadWithoutText(directory: string): Promise<Model> {
  const model = await loadConfigAndWeights(directory);
  const none = () => {
    throw new Error('a model with random weights has no text');
  };
  return {
    ...model,
    tokenizer: {
      encode: none,
      decode: none,
      tokenText: none,
      toolCallForm: TAGGED_CALL,
      vocabulary: () => ({ tokens: [], encoding: 'raw' }),
      applyChatTemplate: none,
      decoder: () => ({ push: () => '', flush: () => '' }),
      vocabSize: model.config.vocab,
      eosIds: new Set(),
    },
    generationDefaults: {},
  };
}
