import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseConfig } from './config.ts';

const base = {
  architectures: ['LlamaForCausalLM'],
  num_hidden_layers: 2,
  hidden_size: 64,
  intermediate_size: 96,
  num_attention_heads: 4,
  vocab_size: 512,
  max_position_embeddings: 256,
};
const rope = (rope_scaling: object, more: object = {}) =>
  parseConfig({ ...base, rope_scaling, ...more }, 'config.json').rope;
const fixtureRope = (name: string) =>
  parseConfig(JSON.parse(readFileSync(`test/fixtures/arch/${name}/config.json`, 'utf8')), 'config.json').rope;

describe('parseConfig', () => {
  it('takes the defaults of transformers where a field is absent or null', () => {
    expect(parseConfig({ ...base, rope_scaling: null, head_dim: null }, 'config.json')).toEqual({
      architecture: 'LlamaForCausalLM',
      layers: 2,
      hidden: 64,
      intermediate: 96,
      heads: 4,
      kvHeads: 4,
      headDim: 16,
      vocab: 512,
      maxPositions: 256,
      normEps: 1e-6,
      rope: { type: 'default', theta: 10000 },
      attentionBias: false,
      mlpBias: false,
      tiedEmbeddings: false,
    });
  });

  it('reads every kind of rotary embedding, in the old form and the new', () => {
    const llama3 = {
      type: 'llama3',
      theta: 500000,
      factor: 8,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalMaxPositions: 32,
    };
    expect(fixtureRope('llama-rope-llama3')).toEqual(llama3);
    expect(fixtureRope('llama-v5-config')).toEqual(llama3);
    expect(fixtureRope('llama-mlp-bias')).toEqual({ type: 'default', theta: 50000 });
    expect(fixtureRope('llama-rope-linear')).toEqual({ type: 'linear', theta: 10000, factor: 4 });
    expect(rope({ type: 'linear', factor: 2 })).toEqual({ type: 'linear', theta: 10000, factor: 2 });
    expect(fixtureRope('llama-rope-yarn')).toEqual({
      type: 'yarn',
      theta: 10000,
      factor: 4,
      originalMaxPositions: 64,
      betaFast: 32,
      betaSlow: 1,
      attentionFactor: 0.1 * Math.log(4) + 1,
    });
  });

  it('yarn: an attention factor as given, or as a ratio of two scales', () => {
    const yarn = { rope_type: 'yarn', factor: 4, beta_fast: 16, beta_slow: 2 };
    expect(rope({ ...yarn, attention_factor: 1.5 })).toEqual({
      type: 'yarn',
      theta: 10000,
      factor: 4,
      originalMaxPositions: 256,
      betaFast: 16,
      betaSlow: 2,
      attentionFactor: 1.5,
    });
    const ratio = (0.1 * 0.7 * Math.log(4) + 1) / (0.1 * 0.5 * Math.log(4) + 1);
    expect(rope({ ...yarn, mscale: 0.7, mscale_all_dim: 0.5 })).toMatchObject({ attentionFactor: ratio });
    expect(rope({ rope_type: 'yarn', factor: 1 })).toMatchObject({ attentionFactor: 1 });
  });

  it.each([
    [{ architectures: ['MambaForCausalLM'] }, /MambaForCausalLM.*supported: LlamaForCausalLM/],
    [{ hidden_act: 'gelu' }, /hidden_act gelu.*supported: silu/],
    [{ rope_scaling: { rope_type: 'longrope', factor: 2 } }, /rope_scaling: rope_type longrope.*llama3, yarn/],
    [{ partial_rotary_factor: 0.5 }, /partial_rotary_factor 0.5/],
    [{ quantization_config: { bits: 4 } }, /quantization_config/],
  ])('refuses what it does not run: %j', (more, message) => {
    const refusal = { code: 'RXLLM_MODEL_UNSUPPORTED', message: expect.stringMatching(message) };
    expect(() => parseConfig({ ...base, ...more }, 'config.json')).toThrow(expect.objectContaining(refusal));
  });

  it.each([
    [{ vocab_size: '512' }, 'config.json: vocab_size must be integer, found "512"'],
    [{ num_hidden_layers: 0 }, 'config.json: num_hidden_layers must be >= 1, found 0'],
    [{ num_hidden_layers: 1e7 }, 'config.json: num_hidden_layers must be <= 1024, found 10000000'],
    [{ hidden_size: null }, 'config.json: hidden_size is missing'],
    [{ num_key_value_heads: 3 }, 'num_attention_heads (4) must be a multiple of num_key_value_heads (3)'],
    [{ hidden_size: 66 }, 'hidden_size (66) must be a multiple of num_attention_heads (4)'],
    [{ head_dim: 15 }, 'head_dim must be even for rotary embedding, found 15'],
    [{ architectures: undefined }, 'neither architectures nor model_type is given'],
    [{ rope_scaling: { rope_type: 'linear' } }, 'config.json: rope_scaling: factor is missing'],
    [{ rope_scaling: { rope_type: 'yarn', factor: -1 } }, 'config.json: rope_scaling: factor must be >= 1, found -1'],
  ])('names the field that is wrong: %j', (more, message) => {
    const invalid = { code: 'RXLLM_MODEL_FILE_INVALID', message: expect.stringContaining(message) };
    expect(() => parseConfig({ ...base, ...more }, 'config.json')).toThrow(expect.objectContaining(invalid));
  });
});
