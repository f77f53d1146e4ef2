import { defer, delay, of, type SchedulerLike } from 'rxjs';
import type { ProposerSlot, Sequence, TokenId } from '../../src/core/contracts/index.ts';

export interface ScriptedProposer extends ProposerSlot {
  /** Whom it still keeps something of. */
  readonly kept: Set<Sequence>;
}

/** Guesses by a function; keeps a note of each sequence until it is told to let go. */
export function scriptedProposer(
  guess: (sequence: Sequence, count: number) => readonly TokenId[],
  { delayMs = 0, scheduler }: { readonly delayMs?: number; readonly scheduler?: SchedulerLike } = {},
): ScriptedProposer {
  const kept = new Set<Sequence>();
  const slot: ProposerSlot = () => ({
    propose: (requests) =>
      defer(() => {
        for (const { sequence } of requests) kept.add(sequence);
        const drafts = new Map(
          requests.map(({ sequence, count }) => [sequence.id, { tokens: guess(sequence, count) }] as const),
        );
        return delayMs > 0 ? of(drafts).pipe(delay(delayMs, scheduler)) : of(drafts);
      }),
    retain: (sequences) => {
      for (const sequence of [...kept]) if (!sequences.has(sequence)) kept.delete(sequence);
    },
  });
  return Object.assign(slot, { kept });
}
