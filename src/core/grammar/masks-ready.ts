import { filter, forkJoin, interval, merge, type Observable, of, take } from 'rxjs';
import type { Computed, EngineContext, Sequence } from '../contracts/index.ts';

/** How long a step waits for masks while others are held up by it, in milliseconds. */
const PATIENCE_MS = 10;

/**
 * Emits once when the masks of all rows that have logits are there: during the call to subscribe, if they are. Where
 * others are held up, in the step or behind it, no later than after a short patience.
 */
export function masksReady(step: Pick<Computed, 'rows' | 'logits'>, context: EngineContext): Observable<unknown> {
  const { running, waiting, options } = context;
  const lacking = missing(step);
  if (lacking.length === 0) return of(undefined);
  const allThere$ = forkJoin(lacking.map(({ grammar }) => grammar.ready$));
  const heldUp$ = interval(PATIENCE_MS, options.clock).pipe(
    filter(() => running.length + waiting.length > missing(step).length),
  );
  return merge(allThere$, heldUp$).pipe(take(1));
}

/** A sequence whose text follows a grammar. */
type Guided = Sequence & Required<Pick<Sequence, 'grammar'>>;

/** Rows that only their mask keeps from a token. One that ends or was cancelled is held up itself. */
function missing({ rows, logits }: Pick<Computed, 'rows' | 'logits'>): Guided[] {
  return rows.flatMap(({ sequence }) =>
    logits.has(sequence.id) && sequence.phase !== 'cancelled' && sequence.finish === undefined && isLate(sequence)
      ? [sequence]
      : [],
  );
}

export function isLate(sequence: Sequence): sequence is Guided {
  return sequence.grammar?.isReady === false;
}
