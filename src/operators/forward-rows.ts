import { concat, defer, last, map, type Observable } from 'rxjs';
import type {
  Allocated,
  EngineContext,
  ForwardBatch,
  KvLayout,
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
  { runner, kv }: EngineContext,
  set: (id: SequenceId, logits: Float32Array) => void,
): Observable<void> {
  const batch = rectangle(rows, reservations, kv.pool.layout);
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

/**
 * A row's tokens from here on. Over contiguous memory the kernel of one token rounds otherwise than that of many, so the
 * last token of a prompt that was left over takes the one before it along, which is computed again to the same bits.
 */
function start({ sequence: { computed }, kind, newTokens }: PlannedRow, layout: KvLayout): number {
  const isLeftOver = layout === 'contiguous' && kind === 'prefill' && newTokens === 1 && computed > 0;
  return isLeftOver ? computed - 1 : computed;
}

function rectangle(
  rows: readonly PlannedRow[],
  reservations: Allocated['reservations'],
  layout: KvLayout,
): ForwardBatch {
  const starts = rows.map((row) => start(row, layout));
  const lengths = rows.map(({ sequence, newTokens }, index) => sequence.computed + newTokens - starts[index]!);
  const width = Math.max(...lengths);
  const ids: (readonly TokenId[])[] = [];
  const positions: number[] = [];
  const blockTables: (readonly number[])[] = [];
  const logitsAt: number[] = [];
  for (const [index, row] of rows.entries()) {
    const [from, length] = [starts[index]!, lengths[index]!];
    ids.push(row.sequence.tokens.slice(from, from + length));
    positions.push(from);
    blockTables.push(reservations.get(row.sequence.id)?.blocks ?? []);
    if (completes(row)) logitsAt.push(index * width + length - 1);
  }
  return { rows: rows.length, width, ids, positions, blockTables, logitsAt };
}
