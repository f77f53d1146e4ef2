import { map } from 'rxjs';
import type { Computed, Sampled, Sequence, SequenceId, Slot, TokenId, TokenLogprobs } from '../core/contracts/index.ts';
import { createSampler, type Sampler } from '../core/sampling/sampler.ts';

/**
 * Chooses the next token of each row that has logits, with the request's own parameters and seeded generator. A row for
 * which none can be chosen is among the `failed`; its neighbours go on.
 *
 *     computed: --c--------
 *     sample(): --sampled--
 */
export const sample = (): Slot<Computed, Sampled> => (context) => {
  const { model, options } = context;
  const samplers = new WeakMap<Sequence, Sampler>();
  const samplerOf = (sequence: Sequence) => {
    let sampler = samplers.get(sequence);
    if (sampler === undefined) {
      sampler = createSampler(sequence.params, { eosIds: model.tokenizer.eosIds, random: options.random });
      samplers.set(sequence, sampler);
    }
    return sampler;
  };
  return map((step) => {
    const produced = new Map<SequenceId, readonly TokenId[]>(step.accepted);
    const logprobs = new Map<SequenceId, readonly TokenLogprobs[]>();
    const failed = new Map<SequenceId, unknown>();
    for (const { sequence } of step.rows) {
      const logits = step.logits.get(sequence.id);
      if (logits === undefined || sequence.phase === 'cancelled') continue;
      try {
        const chosen = samplerOf(sequence).sample(logits, sequence.tokens, sequence.promptLength);
        produced.set(sequence.id, [chosen.id]);
        if (chosen.logprobs) logprobs.set(sequence.id, [chosen.logprobs]);
      } catch (error) {
        failed.set(sequence.id, error);
      }
    }
    return { ...step, produced, logprobs, failed };
  });
};
