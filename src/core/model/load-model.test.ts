import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfigAndWeights, loadModel } from './load-model.ts';
import { expectedTensors } from './weights.ts';

const fixtures = 'test/fixtures/arch';

describe('loadConfigAndWeights', () => {
  it.each(readdirSync(fixtures))('%s: config and weights fit together', async (name) => {
    const { config, weights, name: modelName } = await loadConfigAndWeights(join(fixtures, name));
    expect(modelName).toBe(name);
    expect([...weights.keys()].sort()).toEqual([...expectedTensors(config).keys()].sort());
  });

  it('reads the embedded model', async () => {
    const { config, weights } = await loadConfigAndWeights('models/storyteller-draft');
    expect(config).toEqual({
      architecture: 'LlamaForCausalLM',
      layers: 2,
      hidden: 128,
      intermediate: 384,
      heads: 4,
      kvHeads: 2,
      headDim: 32,
      vocab: 8192,
      maxPositions: 2048,
      normEps: 1e-5,
      rope: { type: 'default', theta: 10000 },
      attentionBias: false,
      mlpBias: false,
      tiedEmbeddings: true,
    });
    expect(weights.get('model.embed_tokens.weight')).toEqual({
      file: 'model.safetensors',
      dtype: 'F16',
      shape: [8192, 128],
      offset: 2136,
      length: 8192 * 128 * 2,
    });
  });
});

describe('loadModel', () => {
  it('reads tokenizer and generation defaults too', async () => {
    const model = await loadModel('models/storyteller-12m');
    expect(model.name).toBe('storyteller-12m');
    expect(model.generationDefaults).toEqual({ temperature: 0.8, topP: 0.95, maxTokens: 512 });
    expect([...model.tokenizer.eosIds]).toEqual([2, 0]);
  });

  it('needs a tokenizer', async () => {
    await expect(loadModel(join(fixtures, 'llama-bf16'))).rejects.toMatchObject({ code: 'RXLLM_MODEL_FILE_MISSING' });
  });
});
