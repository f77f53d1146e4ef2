import { concat, defer, last, map, type Observable } from 'rxjs';
import type {
  Allocated,
  EngineContext,
  ForwardBatch,
  Logits,
  PlannedRow,
  SequenceId,
  TokenId,
} from '../core/contracts/index.ts';

export interface ForwardRuns {
  readonly runs: readonly (readonly PlannedRow[])[];
  /** Another pass of this step may come after these. */
  readonly isFollowed: boolean;
  /** Gets the last logits `[vocab]` of each row whose tokens are all computed. */
  readonly logits: Map<SequenceId, Float32Array>;
}

/** One forward pass a run, one after the other; emits once, after the last. */
export function forwardRuns(
  { runs, isFollowed, logits }: ForwardRuns,
  step: Allocated,
  context: EngineContext,
): Observable<void> {
  const passes = runs.map((rows, i) => {
    // The next pass reuses the runner's buffer.
    const isKept = isFollowed || i < runs.length - 1;
    return defer(() => forwardRows(rows, step, context, (id, row) => logits.set(id, isKept ? row.slice() : row)));
  });
  return concat(...passes).pipe(last());
}

/** Runs rows as one rectangle `[rows, widest row]`. */
function forwardRows(
  rows: readonly PlannedRow[],
  { reservations }: Allocated,
  { runner }: EngineContext,
  set: (id: SequenceId, logits: Float32Array) => void,
): Observable<void> {
  const batch = rectangle(rows, reservations);
  return runner.forward(batch).pipe(
    map(({ data, vocab }: Logits) => {
      let at = 0;
      for (const row of rows) {
        if (!completes(row)) continue;
        set(row.sequence.id, data.subarray(at * vocab, (at + 1) * vocab));
        at += 1;
      }
    }),
  );
}

/** After this row every token of the sequence is computed, so that the next can be chosen. */
const completes = ({ sequence, newTokens }: PlannedRow) => sequence.computed + newTokens === sequence.tokens.length;

function rectangle(rows: readonly PlannedRow[], reservations: Allocated['reservations']): ForwardBatch {
  const width = rows.reduce((widest, row) => Math.max(widest, row.newTokens), 0);
  const ids: (readonly TokenId[])[] = [];
  const positions: number[] = [];
  const blockTables: (readonly number[])[] = [];
  const logitsAt: number[] = [];
  for (const [index, row] of rows.entries()) {
    const { tokens, computed } = row.sequence;
    ids.push(tokens.slice(computed, computed + row.newTokens));
    positions.push(computed);
    blockTables.push(reservations.get(row.sequence.id)?.blocks ?? []);
    if (completes(row)) logitsAt.push(index * width + row.newTokens - 1);
  }
  return { rows: rows.length, width, ids, positions, blockTables, logitsAt };
}
