import { basename, resolve } from 'node:path';
import type { Model } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { parseConfig } from './config.ts';
import { parseEosIds, parseGenerationConfig } from './generation-config.ts';
import { loadTokenizer } from './load-tokenizer.ts';
import { readJson, readJsonIfPresent } from './read-json.ts';
import { checkFinished } from './unfinished.ts';
import { checkWeights, indexWeights } from './weights.ts';

const CONFIG = 'config.json';
const GENERATION_CONFIG = 'generation_config.json';

/** The part of a model that the graph needs; its folder may lack a tokenizer. */
export type ConfigAndWeights = Pick<Model, 'name' | 'directory' | 'config' | 'weights'>;

/** @throws RxllmError `RXLLM_MODEL_FILE_MISSING`, `RXLLM_MODEL_FILE_INVALID`, `RXLLM_MODEL_UNSUPPORTED` */
export async function loadConfigAndWeights(directory: string): Promise<ConfigAndWeights> {
  const path = resolve(directory);
  checkFinished(path);
  const config = parseConfig(await readJson(path, CONFIG), CONFIG);
  const weights = await indexWeights(path);
  checkWeights(weights, config);
  return { name: basename(path), directory: path, config, weights };
}

/**
 * Reads a Hugging Face folder and checks that its parts fit together. The weights stay in their files.
 * @throws RxllmError `RXLLM_MODEL_FILE_MISSING`, `RXLLM_MODEL_FILE_INVALID`, `RXLLM_MODEL_UNSUPPORTED`
 */
export async function loadModel(directory: string): Promise<Model> {
  const configAndWeights = await loadConfigAndWeights(directory);
  const { config, directory: path } = configAndWeights;
  const generation = (await readJsonIfPresent(path, GENERATION_CONFIG)) ?? {};
  const generationDefaults = parseGenerationConfig(generation, GENERATION_CONFIG);
  const eosIds = parseEosIds(generation, GENERATION_CONFIG) ?? parseEosIds(await readJson(path, CONFIG), CONFIG);
  const tokenizer = await loadTokenizer(path, eosIds);
  if (tokenizer.vocabSize > config.vocab) {
    const problem = `tokenizer.json has ${tokenizer.vocabSize} tokens, but vocab_size in ${CONFIG} is ${config.vocab}`;
    throw new RxllmError('RXLLM_MODEL_FILE_INVALID', `${problem}: both must come from one model.`);
  }
  return { ...configAndWeights, tokenizer, generationDefaults };
}
