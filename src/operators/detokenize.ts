import { map } from 'rxjs';
import type { Detokenized, Sampled, Sequence, SequenceId, Slot, TokenId } from '../core/contracts/index.ts';

/**
 * Turns new tokens into text, a piece a token; half characters wait in the sequence's decoder until they are whole.
 *
 *     sampled:      --s-------
 *     detokenize(): --detokenized--
 */
export const detokenize = (): Slot<Sampled, Detokenized> => () =>
  map((step) => {
    const text = new Map<SequenceId, readonly string[]>();
    for (const { sequence } of step.rows) {
      const ids = step.produced.get(sequence.id);
      if (ids === undefined) continue;
      text.set(sequence.id, piecesOf(sequence, ids));
    }
    return { ...step, text };
  });

/** What each new token adds to the text; a stop token adds nothing. */
export function piecesOf({ params, decoder }: Sequence, ids: readonly TokenId[]): string[] {
  return ids.map((id) => (params.stopTokenIds.includes(id) ? '' : decoder.push(id)));
}
