import { expect, it } from 'vitest';
import type { Recipe } from '../../src/core/contracts/index.ts';
import { loadModel } from '../../src/core/model/load-model.ts';
import { createEngine, engines } from '../../src/engines/index.ts';
import { generationGoldens, modelDirectory } from './models.ts';

const MODEL = 'storyteller-12m';
const GOLDEN_TOKENS = 64;

const isExact = ({ recipe }: { readonly recipe: Recipe }) => recipe.exact;

/**
 * Every registered engine that calls itself exact gives the reference's greedy ids for every golden prompt: one that is
 * registered later is tested by itself. `tokens` may ask less of a costly prompt.
 */
export function testEquality(tokens: (recipe: Recipe, promptLength: number) => number = () => GOLDEN_TOKENS): void {
  it.each(engines.filter(isExact))('$recipe.name gives the reference’s greedy ids', async ({ recipe }) => {
    const goldens = generationGoldens(MODEL);
    const engine = await createEngine(recipe, await loadModel(modelDirectory(MODEL)));
    const lengths = goldens.map(({ input_ids }) => tokens(recipe, input_ids.length));
    const results = await Promise.all(
      goldens.map(({ input_ids }, index) => engine.generate(input_ids, lengths[index], { ignoreEos: true })),
    );
    await engine.close();
    const expected = goldens.map(({ name, greedy_ids }, index) => [name, greedy_ids.slice(0, lengths[index])]);
    expect(goldens.map(({ name }, index) => [name, results[index]?.outputIds])).toEqual(expected);
  });
}
