import { map } from 'rxjs';
import type { Computed, Sampled, SequenceId, Slot, TokenId, TokenLogprobs } from '../core/contracts/index.ts';
import { samplerOf } from '../core/sampling/sampler-of.ts';

/**
 * Chooses the next token of each row that has logits, with the request's own parameters and seeded generator. Rows that
 * verify has decided keep its tokens. A row for which none can be chosen is among the `failed`; its neighbours go on.
 *
 *     computed: --c--------
 *     sample(): --sampled--
 */
export const sample = (): Slot<Computed, Sampled> => (context) =>
  map((step) => {
    const produced = new Map<SequenceId, readonly TokenId[]>(step.accepted);
    const logprobs = new Map<SequenceId, readonly TokenLogprobs[]>(step.logprobs);
    const failed = new Map<SequenceId, unknown>();
    for (const { sequence } of step.rows) {
      const logits = step.logits.get(sequence.id);
      if (logits === undefined || sequence.phase === 'cancelled') continue;
      try {
        const chosen = samplerOf(sequence, context).sample(logits, sequence.tokens, sequence.promptLength);
        produced.set(sequence.id, [chosen.id]);
        if (chosen.logprobs) logprobs.set(sequence.id, [chosen.logprobs]);
      } catch (error) {
        failed.set(sequence.id, error);
      }
    }
    return { ...step, produced, logprobs, failed };
  });
