import type { Recipe, StagedRecipe } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { baseline } from './baseline.ts';
import { continuous } from './continuous-batching.ts';
import { flashAttention } from './flash-attention.ts';
import { generateLoop } from './generate-loop.ts';
import { int4 } from './int4.ts';
import { kvCache } from './kv-cache.ts';
import { paged } from './paged-attention.ts';
import { prefixCaching } from './prefix-caching.ts';
import { speculative } from './speculative.ts';
import { staticBatch } from './static-batching.ts';
import { transformer } from './transformer.ts';

export interface EngineEntry {
  readonly recipe: Recipe;
  readonly chapter: number;
  /** The question its chapter answers. */
  readonly question: string;
  /** What it was made from; absent: the engine before it. */
  readonly from?: Recipe;
}

/** Every engine that can be named on the command line, in the order of the chapters. */
export const engines: readonly EngineEntry[] = [
  { recipe: baseline, chapter: 1, question: 'What does an inference engine look like?' },
  { recipe: generateLoop, chapter: 2, question: 'How does generation work?' },
  { recipe: transformer, chapter: 3, question: 'What is the model doing?' },
  { recipe: kvCache, chapter: 4, question: 'Why is decode slow?' },
  { recipe: staticBatch, chapter: 5, question: 'How do we serve several requests at once?' },
  { recipe: flashAttention, chapter: 8, question: 'Why keep a score for every pair of tokens?' },
  { recipe: continuous, chapter: 9, question: 'Why should anyone wait for a batch to end?', from: staticBatch },
  { recipe: paged, chapter: 10, question: 'Where does the memory go?' },
  { recipe: prefixCaching, chapter: 11, question: 'Why compute the same beginning twice?' },
  { recipe: int4, chapter: 12, question: 'How do bigger models fit into less memory?', from: continuous },
  {
    recipe: speculative,
    chapter: 13,
    question: 'Can it be faster without changing the model?',
    from: prefixCaching,
  },
];

/** @throws RxllmError `RXLLM_ENGINE_UNKNOWN` */
export function findEngine(name: string): EngineEntry {
  const entry = engines.find(({ recipe }) => recipe.name === name);
  if (entry) return entry;
  const known = engines.map(({ recipe }) => recipe.name).join(', ');
  throw new RxllmError('RXLLM_ENGINE_UNKNOWN', `There is no engine "${name}"; there is ${known}.`, { param: 'engine' });
}

/** The recipe of an engine whose steps can be seen. @throws RxllmError `RXLLM_ENGINE_UNKNOWN`, `RXLLM_OPTION_INVALID` */
export function findStages(name: string): StagedRecipe {
  const { recipe } = findEngine(name);
  if (recipe.kind === 'staged') return recipe;
  throw new RxllmError(
    'RXLLM_OPTION_INVALID',
    `engine: "${name}" is one box, without steps to record or replay; take another of \`rxllm engines\`.`,
    { param: 'engine' },
  );
}
