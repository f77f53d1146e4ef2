import { basename, resolve } from 'node:path';
import type { Model } from '../contracts/index.ts';
import { parseConfig } from './config.ts';
import { readJson } from './read-json.ts';
import { checkWeights, indexWeights } from './weights.ts';

/** The part of a model that the graph needs; its folder may lack a tokenizer. */
export type ConfigAndWeights = Pick<Model, 'name' | 'directory' | 'config' | 'weights'>;

/** @throws RxllmError `RXLLM_MODEL_FILE_MISSING`, `RXLLM_MODEL_FILE_INVALID`, `RXLLM_MODEL_UNSUPPORTED` */
export async function loadConfigAndWeights(directory: string): Promise<ConfigAndWeights> {
  const path = resolve(directory);
  const config = parseConfig(await readJson(path, 'config.json'), 'config.json');
  const weights = await indexWeights(path);
  checkWeights(weights, config);
  return { name: basename(path), directory: path, config, weights };
}
