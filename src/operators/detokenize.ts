import { map } from 'rxjs';
import type { Sampled, SequenceId, Slot, Worded } from '../core/contracts/index.ts';

/**
 * Turns new tokens into text, a piece a token; half characters wait in the sequence's decoder until they are whole.
 *
 *     sampled:      --s-------
 *     detokenize(): --worded--
 */
export const detokenize = (): Slot<Sampled, Worded> => () =>
  map((step) => {
    const text = new Map<SequenceId, readonly string[]>();
    for (const { sequence } of step.rows) {
      const ids = step.produced.get(sequence.id);
      if (ids === undefined) continue;
      text.set(
        sequence.id,
        ids.map((id) => (sequence.params.stopTokenIds.includes(id) ? '' : sequence.decoder.push(id))),
      );
    }
    return { ...step, text };
  });
