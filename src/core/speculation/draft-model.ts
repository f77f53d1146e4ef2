import type { EngineContext, Model, ModelSlot, ProposerSlot, RuntimeSlot } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { llama } from '../graph/llama-graph.ts';
import { pagedBlocks } from '../memory/paged-blocks.ts';
import { loadModel } from '../model/load-model.ts';
import { autoRuntime } from '../runtime/auto-runtime.ts';
import { type DraftRunner, ModelProposer } from './model-proposer.ts';

export interface DraftModelOptions {
  readonly model?: ModelSlot;
  readonly runtime?: RuntimeSlot;
}

/**
 * A smaller model of the same vocabulary proposes. It is loaded with the engine, has a cache of its own, and goes with it.
 * The engine does not start, with `RXLLM_OPTION_INVALID`, where the vocabularies differ.
 */
export function draftModel(directory: string, options: DraftModelOptions = {}): ProposerSlot {
  return (context) =>
    startProposer(context, options, async () => {
      const small = await loadModel(directory);
      checkVocabulary(small, context.model);
      return small;
    });
}

/** A proposer whose model the engine waits for, and frees. */
export function startProposer(
  context: EngineContext,
  { model = llama(), runtime = autoRuntime() }: DraftModelOptions,
  load: () => Promise<Model>,
): ModelProposer {
  let started: DraftRunner | undefined;
  const start = async () => {
    const small = await load();
    const maxModelLen = Math.min(context.options.maxModelLen, small.config.maxPositions);
    const kv = pagedBlocks()(small, { ...context.options, maxModelLen });
    const runner = await runtime(model(small, kv.pool.layout), small, kv.pool);
    started = { runner, kv };
    return runner;
  };
  context.owned.push(start());
  return new ModelProposer(() => {
    if (started === undefined) throw new Error('the proposer is asked before its engine has started');
    return started;
  }, context);
}

function checkVocabulary(small: Model, target: Model): void {
  const vocab = target.config.vocab;
  const isSame = (id: number) => small.tokenizer.tokenText(id) === target.tokenizer.tokenText(id);
  if (small.config.vocab === vocab && range(Math.min(vocab, target.tokenizer.vocabSize)).every(isSame)) return;
  throw new RxllmError(
    'RXLLM_OPTION_INVALID',
    `draftModel: ${small.name} has another vocabulary than ${target.name}, so it cannot draft for it. ` +
      'Take a smaller model of the same family (--draft-model).',
    { param: 'draftModel' },
  );
}

const range = (end: number) => Array.from({ length: end }, (_, i) => i);
