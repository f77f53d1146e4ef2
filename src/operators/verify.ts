import { concatMap, map, of } from 'rxjs';
import type {
  Computed,
  Draft,
  EngineContext,
  Reservation,
  Sequence,
  SequenceId,
  Slot,
  TokenId,
  TokenLogprobs,
} from '../core/contracts/index.ts';
import type { Sample } from '../core/sampling/sampler.ts';
import { samplerOf } from '../core/sampling/sampler-of.ts';
import { verifyDraft } from '../core/speculation/verify-draft.ts';
import { forwardRows } from './forward-rows.ts';
import { isEndToken } from './stop-on.ts';

/**
 * Runs the newest token of every decoding sequence and the draft behind it through the model, all in one pass, and accepts
 * as much of each draft as speculative sampling allows. A row without a draft is left to `sample`, as behind `decodeStep`.
 * Drafts take no memory from others: where there is no room they are cut, and rejected tokens give their blocks back.
 *
 *     computed: --c-------------
 *     verify(): ----computed----   (after the forward pass)
 */
export const verify = (): Slot<Computed, Computed> => (context) =>
  concatMap((step) => {
    const rows = step.rows.filter((row) => row.kind === 'decode');
    if (rows.length === 0) return of({ ...step, drafts: new Map() });
    const { drafts, reservations } = makeRoom(step, context);
    const logits = new Map(step.logits);
    return forwardRows(rows, { reservations }, context, (id, found) => logits.set(id, found), { drafts }).pipe(
      map(() => {
        const accepted = new Map<SequenceId, readonly TokenId[]>();
        const logprobs = new Map<SequenceId, readonly TokenLogprobs[]>();
        for (const { sequence } of rows) {
          const draft = drafts.get(sequence.id);
          if (draft === undefined) continue;
          const found = logits.get(sequence.id)!;
          const isCancelled = sequence.phase === 'cancelled';
          const samples = isCancelled ? [] : decide(sequence, draft, found, context);
          // The last one has no keys and values yet; where there is none, only the row's own token counts.
          context.kv.truncate(sequence, sequence.computed + Math.max(1, samples.length));
          logits.delete(sequence.id);
          if (samples.length === 0) {
            // No token can be chosen: sample finds the same in the row's own logits, and ends this row alone.
            if (!isCancelled) logits.set(sequence.id, found.subarray(0, context.model.config.vocab));
            continue;
          }
          accepted.set(
            sequence.id,
            samples.map(({ id }) => id),
          );
          const told = samples.flatMap((sample) => (sample.logprobs ? [sample.logprobs] : []));
          if (told.length > 0) logprobs.set(sequence.id, told);
        }
        return { ...step, logits, drafts, accepted, logprobs };
      }),
    );
  });

/** The drafts that there is room for, and where their rows may write. */
function makeRoom(step: Computed, { kv }: EngineContext) {
  const drafts = new Map<SequenceId, Draft>();
  const reservations = new Map<SequenceId, Reservation>(step.reservations);
  for (const { sequence, newTokens } of step.rows) {
    const draft = step.drafts.get(sequence.id);
    if (draft === undefined) continue;
    for (let count = draft.tokens.length; count > 0; count--) {
      // The block that the row's own token goes to is the sequence's alone by now, so nothing is left to copy.
      const reservation = kv.reserve(sequence, newTokens + count);
      if (reservation === undefined) continue;
      reservations.set(sequence.id, reservation);
      drafts.set(sequence.id, { ...draft, tokens: draft.tokens.slice(0, count) });
      break;
    }
  }
  return { drafts, reservations };
}

function decide(sequence: Sequence, draft: Draft, logits: Float32Array, context: EngineContext): readonly Sample[] {
  const { params, tokens, promptLength } = sequence;
  return verifyDraft({
    sampler: samplerOf(sequence, context),
    draft,
    logits,
    tokens,
    promptLength,
    ends: (id) => isEndToken(params, id, context),
  });
}
