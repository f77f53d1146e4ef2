import { forkJoin, type Observable, of } from 'rxjs';
import type { Computed } from '../contracts/index.ts';

/** Emits once when the masks of all rows that have logits are there: during the call to subscribe, if they are. */
export function masksReady({ rows, logits }: Pick<Computed, 'rows' | 'logits'>): Observable<unknown> {
  const missing = rows.flatMap(({ sequence: { id, grammar, phase } }) =>
    grammar && phase !== 'cancelled' && logits.has(id) && !grammar.isReady ? [grammar.ready$] : [],
  );
  return missing.length === 0 ? of(undefined) : forkJoin(missing);
}
