import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { Engine, Model, ProposerSlot, SamplingParams, TokenId } from '../../src/core/contracts/index.ts';
import { loadModel } from '../../src/core/model/load-model.ts';
import { draftModel } from '../../src/core/speculation/draft-model.ts';
import { promptLookup } from '../../src/core/speculation/prompt-lookup.ts';
import { selfDraft } from '../../src/core/speculation/self-draft.ts';
import { prefixCaching } from '../../src/engines/prefix-caching.ts';
import { pipeSlots, swap } from '../../src/engines/swap.ts';
import { draft } from '../../src/operators/draft.ts';
import { verify } from '../../src/operators/verify.ts';
import { generationGoldens, modelDirectory } from './models.ts';
import { withEngine } from './with-engine.ts';

const PROPOSERS: Readonly<Record<string, ProposerSlot>> = {
  'a draft model': draftModel(modelDirectory('storyteller-draft')),
  'prompt lookup': promptLookup({ minNgram: 1, maxNgram: 3 }),
  'itself with fewer layers': selfDraft({ layers: [0, 1, 2, 3, 4, 7] }),
};

const SUBJECTS = [
  'a lost kite',
  'the moon',
  'seven times six',
  'a baker',
  'France',
  'a frog',
  'winter',
  'a list',
  'rain',
];
const QUESTIONS = ['Tell me about', 'Write a short poem about', 'What is', 'Why do people like', 'Make a joke about'];

/** Chats, prose and long texts, so many of them. */
function morePrompts({ tokenizer }: Model, count: number): (readonly TokenId[])[] {
  const file = fileURLToPath(new URL('../../models/eval/stories-eval.txt', import.meta.url));
  const prose = tokenizer.encode(readFileSync(file, 'utf8').slice(0, 60_000));
  return Array.from({ length: count }, (_, i) => {
    if (i % 2 === 0) return prose.slice(i * 150, i * 150 + 5 + ((i * 37) % 140));
    const content = `${QUESTIONS[i % QUESTIONS.length]} ${SUBJECTS[i % SUBJECTS.length]}.`;
    return tokenizer.encode(tokenizer.applyChatTemplate([{ role: 'user', content }], { addGenerationPrompt: true }));
  });
}

export interface SpeculationTest {
  readonly prompts: number;
  readonly tokens: number;
  readonly goldens: number;
  /** How many of the prompts run one by one, too. */
  readonly alone: number;
}

/** Each proposer gives what the plain engine gives: greedy and with a seed, alone and in a batch of 8. */
export function testSpeculation({ prompts: more, tokens, goldens, alone }: SpeculationTest): void {
  const SEEDED: Partial<SamplingParams> = { temperature: 0.9, topP: 0.95, frequencyPenalty: 0.2, seed: 11 };

  async function idsOf(engine: Engine, prompts: readonly (readonly TokenId[])[], params: Partial<SamplingParams>) {
    const results = await engine.generateBatch(prompts, tokens, { ...params, ignoreEos: true });
    return results.map(({ outputIds }) => outputIds);
  }

  const cases = generationGoldens('storyteller-12m').slice(0, goldens);

  async function sayPlainly() {
    const model = await loadModel(modelDirectory('storyteller-12m'));
    const prompts = [...cases.map(({ input_ids }) => input_ids), ...morePrompts(model, more)];
    const [expected, seeded] = await withEngine(prefixCaching, model, async (engine) => [
      await idsOf(engine, prompts, {}),
      await idsOf(engine, prompts, SEEDED),
    ]);
    return { model, prompts, expected: expected!, seeded: seeded! };
  }
  /** By the first test, for all. */
  let plain: ReturnType<typeof sayPlainly> | undefined;

  it.each(Object.entries(PROPOSERS))('%s changes no token', async (_, proposer) => {
    plain ??= sayPlainly();
    const { model, prompts, expected, seeded } = await plain;
    const decode = pipeSlots(draft(proposer, { k: 4, adapt: false }), verify());
    const recipe = swap(prefixCaching, { name: 'speculative', decode });
    await withEngine(recipe, model, async (speculative) => {
      const greedy = await idsOf(speculative, prompts, {});
      expect(greedy).toEqual(expected);
      expect(greedy.slice(0, goldens)).toEqual(cases.map(({ greedy_ids }) => greedy_ids.slice(0, tokens)));
      expect(await idsOf(speculative, prompts, SEEDED)).toEqual(seeded);
      for (const [i, prompt] of prompts.slice(0, alone).entries()) {
        expect(await idsOf(speculative, [prompt], {})).toEqual([expected[i]]);
        expect(await idsOf(speculative, [prompt], SEEDED)).toEqual([seeded[i]]);
      }
    });
  });
}
