import { expect, it } from 'vitest';
import type { EngineOptions } from '../core/contracts/index.ts';
import { loadConfigAndWeights } from '../core/model/load-model.ts';
import { engines } from '../engines/index.ts';
import { resolveOptions } from '../engines/options.ts';
import { checkLimitsTakeEffect } from './engine-limits.ts';
import { EMBEDDED_MODEL } from './options.ts';

const BATCHING = ['static-batching', 'flash-attention', 'continuous-batching', 'int4'];
const PAGED = ['paged-attention', 'prefix-caching', 'speculative'];

it.each<[keyof EngineOptions, string[], string]>([
  ['maxNumSeqs', [...BATCHING, ...PAGED], 'runs one sequence at a time'],
  ['maxNumBatchedTokens', ['kv-cache', 'continuous-batching', 'int4', ...PAGED], 'runs each prompt whole'],
  ['kvCacheMemoryMiB', ['kv-cache', ...BATCHING, ...PAGED], 'keeps no keys and values'],
  ['blockSize', PAGED, 'has no blocks'],
  ['maxQueue', engines.map(({ recipe }) => recipe.name), ''],
  ['maxModelLen', engines.map(({ recipe }) => recipe.name), ''],
])('%s is for %s', (param, names, problem) => {
  for (const { recipe } of engines) {
    const check = () => checkLimitsTakeEffect(recipe, { [param]: 64 });
    if (names.includes(recipe.name)) expect(check).not.toThrow();
    else {
      const error = { code: 'RXLLM_OPTION_INVALID', param, message: expect.stringContaining(problem) };
      expect(check).toThrow(expect.objectContaining(error));
      expect(check).toThrow(recipe.name);
      for (const name of names) expect(check).toThrow(name);
    }
    expect(() => checkLimitsTakeEffect(recipe, {})).not.toThrow();
  }
});

it('knows the cache of each engine', async () => {
  const model = (await loadConfigAndWeights(EMBEDDED_MODEL)) as Parameters<typeof resolveOptions>[0];
  const isRefused = (recipe: (typeof engines)[number]['recipe'], given: Partial<EngineOptions>) => {
    try {
      checkLimitsTakeEffect(recipe, given);
      return false;
    } catch {
      return true;
    }
  };
  for (const { recipe } of engines) {
    const layout = recipe.kind === 'staged' ? recipe.kv(model, resolveOptions(model, {})).pool.layout : 'none';
    expect([recipe.name, isRefused(recipe, { blockSize: 8 })]).toEqual([recipe.name, layout !== 'paged']);
    expect([recipe.name, isRefused(recipe, { kvCacheMemoryMiB: 64 })]).toEqual([recipe.name, layout === 'none']);
  }
});
