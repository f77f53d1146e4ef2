import { asyncScheduler, of } from 'rxjs';
import type { EngineOptions, Model, ModelConfig, Sequence } from '../../src/core/contracts/index.ts';
import { DEFAULT_SAMPLING_PARAMS } from '../../src/core/sampling/params.ts';

/** A small Llama's config; only what a test names differs. */
export function fakeConfig(overrides: Partial<ModelConfig> = {}): ModelConfig {
  return {
    architecture: 'LlamaForCausalLM',
    layers: 2,
    hidden: 8,
    intermediate: 16,
    heads: 4,
    kvHeads: 2,
    headDim: 16,
    vocab: 32,
    maxPositions: 2048,
    normEps: 1e-5,
    rope: { type: 'default', theta: 10_000 },
    attentionBias: false,
    mlpBias: false,
    tiedEmbeddings: true,
    ...overrides,
  };
}

/** A model of which only the config may be used. */
export function fakeModel(config: Partial<ModelConfig> = {}): Model {
  return { name: 'fake', config: fakeConfig(config) } as Model;
}

export function fakeOptions(overrides: Partial<EngineOptions> = {}): EngineOptions {
  return {
    maxQueue: 16,
    maxModelLen: 64,
    kvCacheMemoryMiB: 64,
    blockSize: 16,
    maxNumSeqs: 4,
    maxNumBatchedTokens: 64,
    maxPauseMs: 1000,
    clock: asyncScheduler,
    random: () => 0.5,
    newId: () => 'request',
    betweenSteps: () => of(undefined),
    ...overrides,
  };
}

export function fakeSequence(id: string, overrides: Partial<Sequence> = {}): Sequence {
  const tokens = overrides.tokens ?? [1, 2, 3];
  return {
    id,
    request: { prompt: tokens },
    params: DEFAULT_SAMPLING_PARAMS,
    arrivedAt: 0,
    tokens,
    promptLength: tokens.length,
    computed: 0,
    cached: 0,
    blocks: [],
    decoder: { push: () => '', flush: () => '' },
    text: '',
    phase: 'waiting',
    ...overrides,
  };
}
