/** How long each token takes as a text grows, with and without the cache. */
import { filter, pairwise, timestamp } from 'rxjs';
import { createEngine, kvCache, loadModel, type StagedRecipe, transformer } from 'rxllm';
import { args, size } from '../support/args.ts';
import { median } from '../support/quantile.ts';
import { textTable } from '../support/table.ts';

const LENGTH = size(512, 24);
const WINDOW = size(32, 8);
const model = await loadModel(args.model);

/** Milliseconds of each token after the first. */
async function tokenTimes(recipe: StagedRecipe): Promise<number[]> {
  const engine = await createEngine(recipe, model);
  const times: number[] = [];
  const request = { prompt: args.prompt, params: { maxTokens: LENGTH, ignoreEos: true } };
  const token$ = engine.stream(request).pipe(filter(({ type }) => type === 'token'));
  await token$.pipe(timestamp({ now: () => performance.now() }), pairwise()).forEach(([before, after]) => {
    times.push(after.timestamp - before.timestamp);
  });
  await engine.close();
  return times;
}

const without = await tokenTimes(transformer);
const withCache = await tokenTimes(kvCache);
const rows: number[][] = [];
for (let from = 0; from + WINDOW <= LENGTH; from += 2 * WINDOW) {
  const typical = (times: readonly number[]) => Number(median(times.slice(from, from + WINDOW)).toFixed(2));
  rows.push([from + WINDOW, typical(without), typical(withCache)]);
}
console.log('TPOT in ms, the median of a window of tokens:\n');
console.log(textTable(['tokens so far', 'transformer', 'kv-cache'], rows));
