import { describe, expect, it } from 'vitest';
import { parseEosIds, parseGenerationConfig } from './generation-config.ts';

const file = 'generation_config.json';

describe('parseGenerationConfig', () => {
  it('puts the fields under our names', () => {
    const json = { temperature: 0.8, top_p: 0.9, top_k: 40, min_p: 0.1, repetition_penalty: 1.1, max_new_tokens: 9 };
    expect(parseGenerationConfig({ ...json, do_sample: true, pad_token_id: 3 }, file)).toEqual({
      temperature: 0.8,
      topP: 0.9,
      topK: 40,
      minP: 0.1,
      repetitionPenalty: 1.1,
      maxTokens: 9,
    });
    expect(parseGenerationConfig({ temperature: null }, file)).toEqual({});
  });

  it('do_sample false is greedy, top_k 0 is no limit', () => {
    expect(parseGenerationConfig({ do_sample: false, temperature: 0.8, top_k: 0 }, file)).toEqual({
      temperature: 0,
      topK: -1,
    });
  });

  it('reads one end token or several', () => {
    expect(parseEosIds({ eos_token_id: 2 }, file)).toEqual([2]);
    expect(parseEosIds({ eos_token_id: [2, 0] }, file)).toEqual([2, 0]);
    expect(parseEosIds({ eos_token_id: null }, file)).toBeUndefined();
  });

  it('names the field that is wrong', () => {
    expect(() => parseGenerationConfig({ top_p: 2 }, file)).toThrow(
      'generation_config.json: top_p must be <= 1, found 2',
    );
    expect(() => parseEosIds({ eos_token_id: '</s>' }, file)).toThrow('generation_config.json: eos_token_id');
  });
});
