import { filter, pairwise, timestamp } from 'rxjs';
import { createEngine, loadModel, type StagedRecipe } from 'rxllm';
import { median, performanceClock } from 'rxllm/bench';
import { args } from './args.ts';

/** Milliseconds of each token after the first, of one greedy text of so many tokens. */
export async function tokenTimes(recipe: StagedRecipe, length: number): Promise<number[]> {
  const engine = await createEngine(recipe, await loadModel(args.model));
  const times: number[] = [];
  const request = { prompt: args.prompt, params: { maxTokens: length, ignoreEos: true } };
  const token$ = engine.stream(request).pipe(filter(({ type }) => type === 'token'));
  await token$.pipe(timestamp(performanceClock), pairwise()).forEach(([before, after]) => {
    times.push(after.timestamp - before.timestamp);
  });
  await engine.close();
  return times;
}

/** The median of a window around every `window`th token: `[tokens so far, ms]`. */
export function byLength(times: readonly number[], window: number): (readonly [number, number])[] {
  const points: (readonly [number, number])[] = [];
  for (let at = window; at <= times.length + 1; at += window) {
    points.push([at, median(times.slice(Math.max(0, at - 1 - window / 2), at - 1 + window / 2))]);
  }
  return points;
}
