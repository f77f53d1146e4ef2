import type { EngineContext, Sequence } from '../contracts/index.ts';
import { createSampler, type Sampler } from './sampler.ts';

/** By sequence, which belongs to one engine: a request's generator goes on wherever its next token is chosen. */
const samplers = new WeakMap<Sequence, Sampler>();

export function samplerOf(sequence: Sequence, { model, options }: EngineContext): Sampler {
  let sampler = samplers.get(sequence);
  if (sampler === undefined) {
    const { params, grammar } = sequence;
    sampler = createSampler(params, {
      eosIds: model.tokenizer.eosIds,
      random: options.random,
      ...(grammar && { grammar }),
    });
    samplers.set(sequence, sampler);
  }
  return sampler;
}
