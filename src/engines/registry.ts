import type { StagedRecipe } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { continuous } from './continuous-batching.ts';
import { int4 } from './int4.ts';
import { kvCache } from './kv-cache.ts';
import { staticBatch } from './static-batching.ts';

export interface EngineEntry {
  readonly recipe: StagedRecipe;
  readonly chapter: number;
  /** The question its chapter answers. */
  readonly question: string;
}

/** Every engine that can be named on the command line, in the order of the chapters. */
export const engines: readonly EngineEntry[] = [
  { recipe: kvCache, chapter: 4, question: 'Why is decode slow?' },
  { recipe: staticBatch, chapter: 5, question: 'How do we serve several requests at once?' },
  { recipe: continuous, chapter: 9, question: 'Why should anyone wait for a batch to end?' },
  { recipe: int4, chapter: 12, question: 'How do bigger models fit into less memory?' },
];

/** @throws RxllmError `RXLLM_ENGINE_UNKNOWN` */
export function findEngine(name: string): EngineEntry {
  const entry = engines.find(({ recipe }) => recipe.name === name);
  if (entry) return entry;
  const known = engines.map(({ recipe }) => recipe.name).join(', ');
  throw new RxllmError('RXLLM_ENGINE_UNKNOWN', `There is no engine "${name}"; there is ${known}.`, { param: 'engine' });
}
