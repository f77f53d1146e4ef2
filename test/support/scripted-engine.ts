import type { EngineOptions, StagedRecipe, TokenId } from '../../src/core/contracts/index.ts';
import { type Script, scriptedRuntime } from '../../src/core/runtime/scripted-runner.ts';
import { createEngine } from '../../src/engines/create-engine.ts';
import { kvCache } from '../../src/engines/kv-cache.ts';
import { swap } from '../../src/engines/swap.ts';
import { toyModel } from './toy-model.ts';

type Change = Partial<Omit<StagedRecipe, 'kind'>>;

/** Spells the alphabet on from the last letter. */
export const alphabet = (history: readonly TokenId[]): TokenId => Math.min(history.at(-1)! + 1, 31);

/** The real stages over a script, for the toy model. */
export function scriptedRecipe(script: Partial<Script> = {}, change: Change = {}) {
  const runtime = scriptedRuntime({ next: alphabet, ...script });
  const recipe = swap(kvCache, {
    name: 'scripted',
    model: (_, layout) => ({ layout, weightsDirectory: '', author: () => new Uint8Array() }),
    runtime,
    ...change,
  });
  return { recipe, runtime };
}

/** The real engine, its stages and loop over the toy model and a script. `runner` is what it runs on. */
export async function scriptedEngine(
  script: Partial<Script> = {},
  options: Partial<EngineOptions> = {},
  change: Change = {},
) {
  const { recipe, runtime } = scriptedRecipe({ ...(options.clock ? { clock: options.clock } : {}), ...script }, change);
  const engine = await createEngine(recipe, toyModel, options);
  const [runner] = runtime.runners;
  if (runner === undefined) throw new Error('the recipe made no runner');
  return { engine, runner };
}
