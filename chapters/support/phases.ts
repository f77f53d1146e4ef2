import { type GenerateRequest, loadModel, type StagedRecipe } from 'rxllm';
import { type PassRecord, ProfiledEngine, type StageRun } from 'rxllm/bench';
import { args } from './args.ts';

export interface Load {
  readonly batch: number;
  readonly promptTokens: number;
  readonly maxTokens: number;
}

/** Prompts that nobody has asked before, so that no cache can answer them. */
export function requestsFor({ batch, promptTokens, maxTokens }: Load, round = 0): GenerateRequest[] {
  return Array.from({ length: batch }, (_, i) => ({
    prompt: Array.from({ length: promptTokens }, (_, at) => 100 + ((at * 37 + i * 101 + round * 1009) % 8000)),
    params: { maxTokens, ignoreEos: true },
  }));
}

export const optionsFor = ({ batch, promptTokens, maxTokens }: Load) => ({
  maxNumSeqs: batch,
  maxModelLen: promptTokens + maxTokens,
});

/** So many runs of a load, after one that is not counted. */
export async function runsOf(recipe: StagedRecipe, load: Load, rounds: number): Promise<StageRun[]> {
  const profiled = await ProfiledEngine.start(recipe, await loadModel(args.model), optionsFor(load), load.promptTokens);
  const runs: StageRun[] = [];
  await profiled.run(requestsFor(load));
  for (let round = 1; round <= rounds; round++) runs.push(await profiled.run(requestsFor(load, round)));
  await profiled.close();
  return runs;
}

/** The passes over whole prompts of a length, one at a time. */
export async function prefillPasses(recipe: StagedRecipe, tokens: number, rounds: number): Promise<PassRecord[]> {
  const runs = await runsOf(recipe, { batch: 1, promptTokens: tokens, maxTokens: 1 }, rounds);
  return runs.flatMap(({ passes }) => passes.filter((pass) => pass.tokens === tokens));
}

/** The decode passes in which a whole batch had a row. */
export async function decodePasses(recipe: StagedRecipe, batch: number, maxTokens: number): Promise<PassRecord[]> {
  const runs = await runsOf(recipe, { batch, promptTokens: 64, maxTokens }, 1);
  return runs.flatMap(({ passes }) => passes.filter(({ phase, rows }) => phase === 'decode' && rows === batch));
}
