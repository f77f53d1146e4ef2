import type { Recipe } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { baseline } from './baseline.ts';
import { generateLoop } from './generate-loop.ts';
import { kvCache } from './kv-cache.ts';
import { swappedSlots } from './swapped-slots.ts';
import { transformer } from './transformer.ts';

export interface EngineEntry {
  readonly recipe: Recipe;
  readonly chapter: number;
  /** The question its chapter answers. */
  readonly question: string;
  /** What it changes of the engine it is made from, for people to read. */
  readonly swapped: string;
}

const swapsOf = (recipe: Recipe, from: Recipe) => swappedSlots(recipe, from).join(', ');

/** Every engine that can be named on the command line, in the order of the chapters. */
export const engines: readonly EngineEntry[] = [
  {
    recipe: baseline,
    chapter: 1,
    question: 'What does an inference engine look like?',
    swapped: '(one box)',
  },
  {
    recipe: generateLoop,
    chapter: 2,
    question: 'How does generation work?',
    swapped: '(the box opened)',
  },
  {
    recipe: transformer,
    chapter: 3,
    question: 'What is the model doing?',
    swapped: swapsOf(transformer, generateLoop),
  },
  {
    recipe: kvCache,
    chapter: 4,
    question: 'Why is decode slow?',
    swapped: swapsOf(kvCache, transformer),
  },
];

/** @throws RxllmError `RXLLM_ENGINE_UNKNOWN` */
export function findEngine(name: string): EngineEntry {
  const entry = engines.find(({ recipe }) => recipe.name === name);
  if (entry) return entry;
  const known = engines.map(({ recipe }) => recipe.name).join(', ');
  throw new RxllmError('RXLLM_ENGINE_UNKNOWN', `There is no engine "${name}"; there is ${known}.`, { param: 'engine' });
}
