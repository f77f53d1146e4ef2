import { describe, expect, test } from 'vitest';
import type { SamplingParams } from '../contracts/index.ts';
import { DEFAULT_SAMPLING_PARAMS, isGreedy, resolveParams } from './params.ts';

test('the defaults', () => {
  expect(resolveParams()).toEqual({
    temperature: 0,
    topK: -1,
    topP: 1,
    minP: 0,
    maxTokens: 1024,
    minTokens: 0,
    ignoreEos: false,
    repetitionPenalty: 1,
    frequencyPenalty: 0,
    presencePenalty: 0,
    stop: [],
    stopTokenIds: [],
  });
  expect(resolveParams()).toEqual(DEFAULT_SAMPLING_PARAMS);
});

test('overrides win over the request, undefined counts as absent', () => {
  const absent = { topP: undefined, seed: undefined } as unknown as Partial<SamplingParams>;
  const params = resolveParams({ ...absent, maxTokens: 7, temperature: 0.5 });
  expect(params).toEqual({ ...DEFAULT_SAMPLING_PARAMS, maxTokens: 7, temperature: 0.5 });
  expect('seed' in params).toBe(false);
});

test('greedy: temperature 0 or top-k 1, whatever top-p is', () => {
  expect(isGreedy(resolveParams({ temperature: 0, topP: 0.5 }))).toBe(true);
  expect(isGreedy(resolveParams({ temperature: 1, topK: 1 }))).toBe(true);
  expect(isGreedy(resolveParams({ temperature: 1, topK: 2 }))).toBe(false);
});

describe('limits', () => {
  const accepted: [string, unknown][] = [
    ['temperature', 0],
    ['temperature', 2],
    ['topK', -1],
    ['topK', 0],
    ['topK', 1_000_000],
    ['topP', 0],
    ['minP', 1],
    ['maxTokens', 1],
    ['repetitionPenalty', 0.01],
    ['repetitionPenalty', 100],
    ['frequencyPenalty', -2],
    ['presencePenalty', 2],
    ['seed', -5],
    ['seed', Number.MAX_SAFE_INTEGER],
    ['stopTokenIds', [0, 31]],
    ['logitBias', new Map([[31, -100]])],
    ['logprobs', 0],
    ['logprobs', 20],
  ];
  test.each(accepted)('%s: %j is accepted', (name, value) => {
    expect(resolveParams({ [name]: value }, 32)).toMatchObject({ [name]: value });
  });

  const refused: [string, unknown, string][] = [
    ['temperature', -0.1, 'temperature must be a number from 0 to 2, not -0.1.'],
    ['temperature', Number.NaN, 'temperature must be a number from 0 to 2, not NaN.'],
    ['temperature', '1', 'temperature must be a number from 0 to 2, not "1".'],
    ['temperature', null, 'temperature must be a number from 0 to 2, not null.'],
    ['topK', -2, 'topK must be an integer of at least 1, or -1 or 0 for no limit, not -2.'],
    ['topK', 1.5, 'topK must be an integer of at least 1, or -1 or 0 for no limit, not 1.5.'],
    ['topP', 1.01, 'topP must be a number from 0 to 1, not 1.01.'],
    ['minP', -1, 'minP must be a number from 0 to 1, not -1.'],
    ['maxTokens', 0, 'maxTokens must be an integer of at least 1, not 0.'],
    ['minTokens', -1, 'minTokens must be an integer of at least 0, not -1.'],
    ['minTokens', 1025, 'minTokens must be at most maxTokens (1024), not 1025.'],
    ['ignoreEos', 1, 'ignoreEos must be true or false, not 1.'],
    ['repetitionPenalty', 1e-40, 'repetitionPenalty must be a number from 0.01 to 100, not 1e-40.'],
    [
      'repetitionPenalty',
      Number.POSITIVE_INFINITY,
      'repetitionPenalty must be a number from 0.01 to 100, not Infinity.',
    ],
    ['frequencyPenalty', 2.1, 'frequencyPenalty must be a number from -2 to 2, not 2.1.'],
    ['seed', 0.5, 'seed must be a safe integer, not 0.5.'],
    ['seed', 2 ** 53, 'seed must be a safe integer, not 9007199254740992.'],
    ['stop', [''], 'stop must be an array of strings that are not empty, not [""].'],
    ['stop', 'END', 'stop must be an array of strings that are not empty, not "END".'],
    ['stopTokenIds', [32], 'stopTokenIds must be an array of token ids of the vocabulary, not [32].'],
    [
      'logitBias',
      new Map([[1, 101]]),
      'logitBias must be a Map from token ids of the vocabulary to numbers from -100 to 100, not Map [[1,101]].',
    ],
    [
      'logitBias',
      new Map([[32, 1]]),
      'logitBias must be a Map from token ids of the vocabulary to numbers from -100 to 100, not Map [[32,1]].',
    ],
    ['logprobs', 21, 'logprobs must be an integer from 0 to 20, not 21.'],
  ];
  test.each(refused)('%s: %j is refused', (name, value, message) => {
    expect(() => resolveParams({ [name]: value }, 32)).toThrow(
      expect.objectContaining({ code: 'RXLLM_INVALID_REQUEST', param: name, message }),
    );
  });

  test('an unknown name is refused', () => {
    expect(() => resolveParams({ tempurature: 1 } as Partial<SamplingParams>)).toThrow(
      expect.objectContaining({ code: 'RXLLM_INVALID_REQUEST', param: 'tempurature' }),
    );
    expect(() => resolveParams({ toString: 1 } as unknown as Partial<SamplingParams>)).toThrow(
      /^toString is not a sampling parameter/,
    );
  });
});
