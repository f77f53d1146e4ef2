import type { Engine, EngineOptions, Model, Recipe } from '../../src/core/contracts/index.ts';
import { createEngine } from '../../src/engines/create-engine.ts';

/** Uses an engine, and closes it whatever happens. */
export async function withEngine<T>(
  recipe: Recipe,
  model: Model,
  use: (engine: Engine) => Promise<T>,
  options: Partial<EngineOptions> = {},
): Promise<T> {
  const engine = await createEngine(recipe, model, options);
  try {
    return await use(engine);
  } finally {
    await engine.close();
  }
}
