import { map, type Observable } from 'rxjs';
import type {
  Allocated,
  EngineContext,
  ForwardBatch,
  Logits,
  PlannedRow,
  SequenceId,
  TokenId,
} from '../core/contracts/index.ts';

/** Runs rows as one rectangle `[rows, widest row]` and sets each finished row's last logits `[vocab]` in `into`. */
export function forwardRows(
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
