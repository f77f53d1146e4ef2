import { Option } from 'commander';
import type { ModelConfig, Recipe, RuntimeSlot } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { autoRuntime } from '../core/runtime/auto-runtime.ts';
import { kvCache, QUANTIZATIONS, type Quantization, speculative, speculativeWith } from '../engines/index.ts';
import { EMBEDDED_MODEL, modelDirectory, oneOf } from './options.ts';

export const modelOption = (): Option =>
  new Option('--model <dir>', 'a folder in Hugging Face layout')
    .argParser(modelDirectory)
    // A path of this machine would tell nobody more.
    .default(EMBEDDED_MODEL, 'the embedded model');

export const quantizeOption = (): Option =>
  new Option('--quantize <kind>', 'round the weights while loading: int4, int8 or row-int8').argParser(
    oneOf(...(Object.keys(QUANTIZATIONS) as Quantization[])),
  );

export const draftModelOption = (): Option =>
  new Option(
    '--draft-model <dir>',
    'what drafts for the engine speculative, of the same vocabulary; default: the embedded one',
  ).argParser(modelDirectory);

export interface ModelOptions {
  readonly quantize?: Quantization;
  readonly draftModel?: string;
}

/** @throws RxllmError `RXLLM_OPTION_INVALID` where the engine drafts nothing */
export function checkDraftModel(recipe: Recipe, { draftModel }: ModelOptions): void {
  if (draftModel === undefined || recipe === speculative) return;
  throw invalid('draftModel', `${recipe.name} drafts nothing; leave it out, or take --engine speculative`);
}

/**
 * The slots of an engine that the options change; `share` lets runtimes take turns. An engine that drafts nothing leaves
 * the draft model to those that are swapped in. Of the model no more than its config is needed.
 * @throws RxllmError `RXLLM_OPTION_INVALID` where the engine or the model leaves nothing to quantize
 */
export function changedSlots(
  recipe: Recipe,
  { quantize, draftModel }: ModelOptions,
  model: QuantizedAlready,
  share: (runtime: RuntimeSlot) => RuntimeSlot = (runtime) => runtime,
) {
  if (quantize !== undefined) checkQuantize(recipe, model);
  return {
    runtime: share(recipe.runtime),
    ...(recipe === speculative && { decode: speculativeWith(draftModel, { runtime: share(autoRuntime()) }).decode }),
    ...(quantize !== undefined && { model: QUANTIZATIONS[quantize], exact: false }),
  };
}

interface QuantizedAlready {
  readonly name: string;
  readonly config: Pick<ModelConfig, 'quantization'>;
}

function checkQuantize(recipe: Recipe, { name, config: { quantization } }: QuantizedAlready): void {
  if (quantization !== undefined) {
    throw invalid('quantize', `the weights of ${name} have ${quantization.bits} bits already; leave it out`);
  }
  if (recipe.model === kvCache.model) return;
  const problem = `it would replace the graph that makes the engine ${recipe.name}; leave it out, or take another engine`;
  throw invalid('quantize', problem);
}

function invalid(param: keyof ModelOptions, problem: string): RxllmError {
  return new RxllmError('RXLLM_OPTION_INVALID', `${param}: ${problem}.`, { param });
}
