import { concatMap, map } from 'rxjs';
import type {
  Computed,
  EngineContext,
  Sampled,
  SequenceId,
  Slot,
  TokenId,
  TokenLogprobs,
} from '../core/contracts/index.ts';
import { isLate, masksReady } from '../core/grammar/masks-ready.ts';
import { samplerOf } from '../core/sampling/sampler-of.ts';

/**
 * Chooses the next token of each row that has logits, with the request's own parameters and seeded generator. Rows for
 * which `verify` has chosen keep its tokens. Rows that follow a grammar need its mask, which was begun when the token before
 * was chosen and so is mostly ready; `sample` waits for the others, but only shortly where that holds up other sequences.
 * A row whose mask is not ready then is `late`; one for which no token can be chosen is `failed`. The other rows go on.
 *
 *     computed: --c--------
 *     sample(): --sampled--
 */
export const sample = (): Slot<Computed, Sampled> => (context) =>
  concatMap((step) => masksReady(step, context).pipe(map(() => choose(step, context))));

function choose(step: Computed, context: EngineContext): Sampled {
  const produced = new Map<SequenceId, readonly TokenId[]>(step.accepted);
  const logprobs = new Map<SequenceId, readonly TokenLogprobs[]>(step.logprobs);
  const failed = new Map<SequenceId, unknown>();
  const late = new Set<SequenceId>();
  for (const { sequence } of step.rows) {
    const logits = step.logits.get(sequence.id);
    if (logits === undefined || sequence.phase === 'cancelled') continue;
    if (isLate(sequence)) {
      late.add(sequence.id);
      continue;
    }
    try {
      const chosen = samplerOf(sequence, context).sample(logits, sequence.tokens, sequence.promptLength);
      produced.set(sequence.id, [chosen.id]);
      if (chosen.logprobs) logprobs.set(sequence.id, [chosen.logprobs]);
    } catch (error) {
      failed.set(sequence.id, error);
    }
  }
  return { ...step, produced, logprobs, failed, late };
}
