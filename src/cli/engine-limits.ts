import type { EngineOptions, Recipe, StagedRecipe } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { engines, generateLoop, paged, prefixCaching, staticBatch } from '../engines/index.ts';

interface Limit {
  readonly takesEffect: (recipe: StagedRecipe) => boolean;
  /** Why it does not, of an engine by its name. */
  readonly problem: (name: string) => string;
}

const hasCache = ({ kv }: StagedRecipe) => kv !== generateLoop.kv;

/** The limits that not every engine has a use for; engines that are swaps of one another share their slots. */
const LIMITS = {
  maxNumSeqs: {
    takesEffect: ({ schedule }) => schedule !== generateLoop.schedule,
    problem: (name) => `${name} runs one sequence at a time`,
  },
  maxNumBatchedTokens: {
    takesEffect: (recipe) => hasCache(recipe) && recipe.schedule !== staticBatch.schedule,
    problem: (name) => `${name} runs each prompt whole`,
  },
  kvCacheMemoryMiB: {
    takesEffect: hasCache,
    problem: (name) => `${name} keeps no keys and values`,
  },
  blockSize: {
    takesEffect: ({ kv }) => kv === paged.kv || kv === prefixCaching.kv,
    problem: (name) => `the cache of ${name} has no blocks`,
  },
} satisfies Partial<Record<keyof EngineOptions, Limit>>;

/**
 * Refuses a limit that the engine would pass over without a word. One that is swapped in later takes what it can use of
 * them: they were given for the first.
 * @throws RxllmError `RXLLM_OPTION_INVALID` that names the engines which can use it
 */
export function checkLimitsTakeEffect(recipe: Recipe, given: Partial<EngineOptions>): void {
  for (const [param, { takesEffect, problem }] of Object.entries<Limit>(LIMITS)) {
    const canUse = (other: Recipe) => other.kind === 'staged' && takesEffect(other);
    if (!(param in given) || canUse(recipe)) continue;
    const others = engines.filter((entry) => canUse(entry.recipe)).map((entry) => entry.recipe.name);
    const message = `${param}: ${problem(recipe.name)}; leave it out, or take --engine ${others.join(', ')}.`;
    throw new RxllmError('RXLLM_OPTION_INVALID', message, { param });
  }
}
