import { describe, expect, it } from 'vitest';
import type { Distribution, Draft, SamplingParams, TokenId } from '../../src/core/contracts/index.ts';
import { type Candidates, draw } from '../../src/core/sampling/candidates.ts';
import { DEFAULT_SAMPLING_PARAMS } from '../../src/core/sampling/params.ts';
import { createRandom } from '../../src/core/sampling/random.ts';
import { createSampler } from '../../src/core/sampling/sampler.ts';
import { createTokenDistribution } from '../../src/core/sampling/token-distribution.ts';
import { verifyDraft } from '../../src/core/speculation/verify-draft.ts';
import { chiSquareP } from './chi-square.ts';

const VOCAB = 6;
const DRAWS = 10_000;
const K = 2;
const PROMPT: readonly TokenId[] = [3, 1];
const NO_EOS: ReadonlySet<TokenId> = new Set();

/** Logits after each last token. */
const TARGET = [
  [1.2, 0.3, -0.5, 0.8, -1.5, 0.1],
  [-0.2, 1.5, 0.4, -1.0, 0.9, 0.0],
  [0.5, -0.7, 1.1, 0.2, 0.6, -2.0],
  [0.0, 0.4, 0.8, 1.3, -0.9, 0.3],
  [1.0, 0.9, -0.3, 0.1, 0.2, -0.6],
  [-1.1, 0.7, 0.2, 0.5, 1.4, 0.6],
];
const shifted = TARGET.map((row, last) => row.map((logit, id) => logit + 0.4 * Math.sin(3 * id + last)));
const reversed = TARGET.map((row) => row.map((logit) => -1.5 * logit));
/** Never proposes an even token, where the target has half its mass. */
const blind = TARGET.map((row) => row.map((logit, id) => (id % 2 === 0 ? Number.NEGATIVE_INFINITY : logit)));

const DRAFTS = { equal: TARGET, close: shifted, far: reversed, 'with zero mass': blind };
const PARAMS = {
  'temperature 1': { temperature: 1 },
  'temperature 0.6': { temperature: 0.6 },
  'top-k 3': { temperature: 1, topK: 3 },
  'top-p 0.7': { temperature: 1, topP: 0.7 },
  'min-p 0.3': { temperature: 1.3, minP: 0.3 },
  penalties: { temperature: 0.9, frequencyPenalty: 0.7, presencePenalty: 0.3, repetitionPenalty: 1.3 },
} satisfies Readonly<Record<string, Partial<SamplingParams>>>;

/** The target's distribution after `tokens`, by the definitions and in float64. */
function reference(tokens: readonly TokenId[], params: SamplingParams): number[] {
  const outputs = tokens.slice(PROMPT.length);
  const logits = TARGET[tokens.at(-1)!]!.map((logit, id) => {
    const count = outputs.filter((token) => token === id).length;
    let adjusted = Math.fround(logit);
    if (tokens.includes(id)) {
      adjusted = adjusted > 0 ? adjusted / params.repetitionPenalty : adjusted * params.repetitionPenalty;
    }
    if (count > 0) adjusted -= count * params.frequencyPenalty + params.presencePenalty;
    return adjusted / params.temperature;
  });
  const byRank = logits.map((_, id) => id).sort((a, b) => logits[b]! - logits[a]!);
  const normalize = (weights: readonly number[]) => {
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  };
  const top = byRank.slice(0, params.topK > 0 ? params.topK : VOCAB);
  let p = normalize(logits.map((logit, id) => (top.includes(id) ? Math.exp(logit) : 0)));
  const nucleus = new Set<TokenId>();
  let mass = 0;
  for (const id of byRank) {
    if (mass >= params.topP) break;
    nucleus.add(id);
    mass += p[id]!;
  }
  p = normalize(p.map((value, id) => (nucleus.has(id) ? value : 0)));
  const least = params.minP * Math.max(...p);
  return normalize(p.map((value) => (value >= least ? value : 0)));
}

type Drafter = (text: readonly TokenId[]) => { readonly candidates: Candidates; readonly distribution: Distribution };

/** What may be drafted after a text, computed once for each text. */
function drafterOf(draftLogits: typeof TARGET, params: SamplingParams): Drafter {
  const known = new Map<number, ReturnType<Drafter>>();
  const draftAfter: Drafter = (text) => {
    const logits = new Float32Array(draftLogits[text.at(-1)!]!);
    const drafter = createTokenDistribution(params, NO_EOS);
    const candidates = structuredClone(drafter.candidates(logits, text, PROMPT.length));
    const { ids, weights, count, total } = candidates;
    const probabilities = weights.slice(0, count).map((one) => one / total);
    return { candidates, distribution: { ids: ids.slice(0, count), probabilities } };
  };
  return (text) => {
    const key = text.reduce((sum, id) => sum * (VOCAB + 1) + id + 1, 0);
    const drafted = known.get(key) ?? draftAfter(text);
    known.set(key, drafted);
    return drafted;
  };
}

/** Two tokens, from as many rounds of drafting and verifying as they take. */
function twoTokens(draftAfter: Drafter, params: SamplingParams, random: () => number, certain: boolean) {
  const sampler = createSampler(params, { eosIds: NO_EOS, random });
  const tokens = [...PROMPT];
  while (tokens.length < PROMPT.length + 2) {
    const text = [...tokens];
    const distributions: Distribution[] = [];
    const logits = new Float32Array((K + 1) * VOCAB);
    logits.set(TARGET[text.at(-1)!]!);
    for (let i = 0; i < K; i++) {
      const { candidates, distribution } = draftAfter(text);
      distributions.push(distribution);
      text.push(draw(candidates, random()));
      logits.set(TARGET[text.at(-1)!]!, (i + 1) * VOCAB);
    }
    const drafted: Draft = { tokens: text.slice(tokens.length), ...(!certain && { distributions }) };
    const verifying = { sampler, draft: drafted, logits, tokens, promptLength: PROMPT.length, ends: () => false };
    tokens.push(...verifyDraft(verifying).map(({ id }) => id));
  }
  return [tokens[PROMPT.length]!, tokens[PROMPT.length + 1]!] as const;
}

function pValues(seeds: number, draftLogits: typeof TARGET, given: Partial<SamplingParams>, certain = false): number[] {
  const params = { ...DEFAULT_SAMPLING_PARAMS, ...given };
  const expected = reference(PROMPT, params).flatMap((first, id) =>
    reference([...PROMPT, id], params).map((second) => DRAWS * first * second),
  );
  const draftAfter = drafterOf(draftLogits, params);
  return Array.from({ length: seeds }, (_, seed) => {
    const random = createRandom(1000 + seed);
    const counts = new Array<number>(VOCAB * VOCAB).fill(0);
    for (let i = 0; i < DRAWS; i++) {
      const [first, second] = twoTokens(draftAfter, params, random, certain);
      counts[first * VOCAB + second]! += 1;
    }
    counts.forEach((count, cell) => {
      if (expected[cell] === 0) expect(count).toBe(0);
    });
    return chiSquareP(counts, expected);
  });
}

function expectTarget(values: readonly number[]): void {
  expect(Math.min(...values)).toBeGreaterThan(0.001);
  expect(values.filter((p) => p < 0.01).length).toBeLessThanOrEqual(1);
}

/** Texts that were drafted and verified are distributed as the target has them: a chi-square of 10,000 for each seed. */
export function testRejectionSampling({ seeds }: { readonly seeds: number }): void {
  describe('what speculative sampling gives is distributed as the target', () => {
    it.each(Object.entries(DRAFTS))('with a draft %s', (_, draftLogits) => {
      expectTarget(pValues(seeds, draftLogits, PARAMS['temperature 1']));
    });

    it.each(Object.entries(PARAMS).slice(1))('under %s', (_, params) => {
      expectTarget(pValues(seeds, shifted, params));
    });

    it.each(['far', 'with zero mass'] as const)('with a draft %s under top-p and penalties', (kind) => {
      expectTarget(pValues(seeds, DRAFTS[kind], { ...PARAMS.penalties, ...PARAMS['top-p 0.7'] }));
    });

    it('with a draft that was not drawn', () => {
      expectTarget(pValues(seeds, reversed, PARAMS['temperature 0.6'], true));
    });

    it('and a wrong distribution would be found', () => {
      const params = { ...DEFAULT_SAMPLING_PARAMS, temperature: 1 };
      const expected = reference(PROMPT, params).map((p) => DRAWS * p);
      const wrong = reference(PROMPT, { ...params, temperature: 1.1 }).map((p) => Math.round(DRAWS * p));
      expect(chiSquareP(wrong, expected)).toBeLessThan(1e-6);
    });
  });
}
