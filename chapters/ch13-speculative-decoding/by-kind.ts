/** What speculation gives on a kind of text; used by the files beside it. */
import { fileURLToPath } from 'node:url';
import {
  createEngine,
  draft,
  draftModel,
  type Engine,
  loadModel,
  type ProposerSlot,
  pipeSlots,
  prefixCaching,
  type StagedRecipe,
  swap,
  verify,
} from 'rxllm';
import { type PromptKind, readStories, speculationPrompts } from '../../bench/workloads/speculation.ts';
import { args, size } from '../support/args.ts';

export const small = draftModel(fileURLToPath(new URL('../../models/storyteller-draft', import.meta.url)));

/** Always k tokens: what adapting would hide is to be seen here. */
export const always = (k: number, proposer: ProposerSlot = small): StagedRecipe =>
  swap(prefixCaching, { name: `k = ${k}`, decode: pipeSlots(draft(proposer, { k, adapt: false }), verify()) });

export const model = await loadModel(args.model);

export const kinds: readonly PromptKind[] = speculationPrompts(readStories(), model.tokenizer).map((one) => ({
  ...one,
  prompts: one.prompts.slice(0, size(one.prompts.length, 1)),
}));

export interface Outcome {
  readonly proposed: number;
  readonly accepted: number;
  readonly drafts: number;
  /** Drafts whose first token stood, whose second, … */
  readonly perPosition: readonly number[];
  readonly tokens: number;
  readonly ms: number;
}

/** All prompts of a kind, one after the other; the time is that between a reply's first token and its last. */
export async function outcomeOf(engine: Engine, { prompts, ignoreEos = false }: PromptKind): Promise<Outcome> {
  const sum = { proposed: 0, accepted: 0, drafts: 0, perPosition: [] as number[], tokens: 0, ms: 0 };
  for (const prompt of prompts) {
    const { metrics } = await engine.generate(prompt, size(128, 8), { ignoreEos });
    sum.tokens += metrics.outputTokens - 1;
    sum.ms += metrics.tpotMs * (metrics.outputTokens - 1);
    const { specDecode } = metrics;
    if (specDecode === undefined) continue;
    sum.proposed += specDecode.tokensProposed;
    sum.accepted += specDecode.tokensAccepted;
    sum.drafts += specDecode.drafts;
    for (const [at, count] of specDecode.acceptedPerPosition.entries()) {
      sum.perPosition[at] = (sum.perPosition[at] ?? 0) + count;
    }
  }
  return sum;
}

export const acceptance = ({ accepted, proposed }: Outcome) => (proposed === 0 ? 0 : accepted / proposed);
/** Of the target, its own token counted. */
export const tokensPerPass = ({ accepted, drafts }: Outcome) => (drafts === 0 ? 1 : 1 + accepted / drafts);
export const tokensPerS = ({ tokens, ms }: Outcome) => (1000 * tokens) / ms;

/** An engine for each recipe, closed behind `use`. */
export async function withRecipes<T>(
  recipes: readonly StagedRecipe[],
  use: (engines: readonly Engine[]) => Promise<T>,
): Promise<T> {
  const engines: Engine[] = [];
  for (const recipe of recipes) engines.push(await createEngine(recipe, model));
  const used = await use(engines);
  for (const engine of engines) await engine.close();
  return used;
}
