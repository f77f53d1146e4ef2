import { expect, it } from 'vitest';
import type { GrammarMatcher, SamplingParams, TokenId } from '../contracts/index.ts';
import { allowsOther, applyMask } from './mask.ts';
import { resolveParams } from './params.ts';
import { createSampler } from './sampler.ts';

const VOCAB = 70;
const maskOf = (...ids: readonly TokenId[]) => {
  const mask = new Int32Array(Math.ceil(VOCAB / 32));
  for (const id of ids) mask[id >> 5]! |= 1 << (id & 31);
  return mask;
};

it('leaves what its bits name', () => {
  const allowed = [0, 31, 32, 63, 69];
  const logits = Float32Array.from({ length: VOCAB }, (_, id) => id);
  applyMask(logits, maskOf(...allowed));
  expect([...logits].flatMap((logit, id) => (logit === Number.NEGATIVE_INFINITY ? [] : [id]))).toEqual(allowed);
  const untouched = Float32Array.from({ length: VOCAB }, (_, id) => id);
  applyMask(untouched, new Int32Array(3).fill(-1));
  expect([...untouched]).toEqual([...Array(VOCAB).keys()]);
});

it('tells whether it allows anything else', () => {
  expect(allowsOther(maskOf(2, 40), new Set([2]))).toBe(true);
  expect(allowsOther(maskOf(2, 40), new Set([2, 40]))).toBe(false);
});

/** Token 2 ends a text; logits grow with the id. */
function sampleWith(params: Partial<SamplingParams>, mask: Int32Array, seed = 1) {
  const accepted: TokenId[] = [];
  const grammar = {
    isReady: true,
    mask: () => mask,
    accept: (id: TokenId) => accepted.push(id),
  } as unknown as GrammarMatcher;
  const sampler = createSampler(resolveParams({ seed, ...params }), {
    eosIds: new Set([2]),
    random: Math.random,
    grammar,
  });
  const logits = Float32Array.from({ length: VOCAB }, (_, id) => id / 10);
  const { id } = sampler.sample(logits, [5], 1);
  expect(accepted).toEqual([id]);
  expect(logits[0]).toBe(0);
  return id;
}

it.each([
  {},
  { temperature: 1 },
  { temperature: 1, topK: 5 },
  { temperature: 1, topP: 0.1 },
  { temperature: 2, minP: 0.5 },
  { repetitionPenalty: 2, presencePenalty: 1, frequencyPenalty: 1 },
  { logitBias: new Map([[60, 100]]) },
])('%j draws from the mask alone', (params) => {
  for (let seed = 0; seed < 20; seed++) expect([7, 33]).toContain(sampleWith(params, maskOf(7, 33), seed));
});

it('a bias chooses among what is allowed', () => {
  expect(sampleWith({ logitBias: new Map([[7, 50]]) }, maskOf(7, 33))).toBe(7);
});

it('the end waits for minTokens, unless the grammar has nothing else', () => {
  expect(sampleWith({ minTokens: 3, logitBias: new Map([[2, 100]]) }, maskOf(2, 7))).toBe(7);
  expect(sampleWith({ minTokens: 3 }, maskOf(2))).toBe(2);
});

it('a text that follows a format cannot ignore its end', () => {
  expect(() => resolveParams({ ignoreEos: true, responseFormat: { type: 'json_object' } })).toThrow(
    expect.objectContaining({ param: 'ignoreEos' }),
  );
  expect(resolveParams({ ignoreEos: true, responseFormat: { type: 'text' } }).ignoreEos).toBe(true);
});
