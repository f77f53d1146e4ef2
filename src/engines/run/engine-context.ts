import type { EngineContext, EngineOptions, Model, Recipe } from '../../core/contracts/index.ts';
import { noCache } from '../../core/memory/no-cache.ts';

/** What the slots of a recipe share: its allocator, its graph on its runtime, and a queue and a batch that are empty. */
export async function engineContext(recipe: Recipe, model: Model, options: EngineOptions): Promise<EngineContext> {
  const kv = (recipe.kind === 'staged' ? recipe.kv : noCache())(model, options);
  const runner = await recipe.runtime(recipe.model(model, kv.pool.layout), model, kv.pool);
  return { options, model, runner, kv, waiting: [], running: [], owned: [] };
}
