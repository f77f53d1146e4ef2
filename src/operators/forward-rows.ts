import { concat, defer, last, map, type Observable } from 'rxjs';
import type {
  Allocated,
  BlockId,
  Draft,
  EngineContext,
  KvLayout,
  Logits,
  PlannedRow,
  SequenceId,
} from '../core/contracts/index.ts';
import { toRectangle } from '../core/runtime/rectangle.ts';

const NO_DRAFTS: ReadonlyMap<SequenceId, Draft> = new Map();

export interface ForwardRuns {
  readonly runs: readonly (readonly PlannedRow[])[];
  /** Blocks of rows without tokens, which the first of the runs carries along. */
  readonly padding?: readonly (readonly BlockId[])[];
  /** Another pass of this step may come after these. */
  readonly isFollowed: boolean;
  /** Gets the last logits `[vocab]` of each row whose tokens are all computed. */
  readonly logits: Map<SequenceId, Float32Array>;
}

/** One forward pass for each run, one after the other; emits once, after the last. */
export function forwardRuns(
  { runs, padding, isFollowed, logits }: ForwardRuns,
  step: Allocated,
  context: EngineContext,
): Observable<void> {
  const passes = runs.map((rows, i) => {
    // The next pass reuses the runner's buffer.
    const isKept = isFollowed || i < runs.length - 1;
    const set = (id: SequenceId, row: Float32Array) => logits.set(id, isKept ? row.slice() : row);
    return defer(() => forwardRows(rows, step, context, set, { padding: i === 0 ? padding : undefined }));
  });
  return concat(...passes).pipe(last());
}

export interface RowExtras {
  readonly drafts?: ReadonlyMap<SequenceId, Draft>;
  readonly padding?: readonly (readonly BlockId[])[] | undefined;
}

/**
 * Runs rows as one rectangle `[rows, widest row]`, each with its draft behind it, and gives each finished row’s logits to
 * `set`: `[vocab]` of its last token, or `[1 + drafted, vocab]`.
 */
export function forwardRows(
  rows: readonly PlannedRow[],
  { reservations }: Pick<Allocated, 'reservations'>,
  { runner, kv }: EngineContext,
  set: (id: SequenceId, logits: Float32Array) => void,
  { drafts = NO_DRAFTS, padding = [] }: RowExtras = {},
): Observable<void> {
  const wanted = rows.map((row) => (completes(row) ? 1 + (drafts.get(row.sequence.id)?.tokens.length ?? 0) : 0));
  const batch = toRectangle([
    ...rows.map((row, index) => {
      const { sequence, newTokens } = row;
      const position = start(row, kv.pool.layout);
      const drafted = drafts.get(sequence.id)?.tokens ?? [];
      return {
        ids: [...sequence.tokens.slice(position, sequence.computed + newTokens), ...drafted],
        position,
        blocks: reservations.get(sequence.id)?.blocks ?? [],
        wanted: wanted[index]!,
      };
    }),
    ...padding.map((blocks) => ({ ids: [], position: 0, blocks, wanted: 0 })),
  ]);
  return runner.forward(batch).pipe(
    map(({ data, vocab }: Logits) => {
      let at = 0;
      for (const [index, { sequence }] of rows.entries()) {
        const end = at + wanted[index]!;
        if (end > at) set(sequence.id, data.subarray(at * vocab, end * vocab));
        at = end;
      }
    }),
  );
}

/** After this row every token of the sequence is computed, so that the next can be chosen. */
export const completes = ({ sequence, newTokens }: PlannedRow) =>
  sequence.computed + newTokens === sequence.tokens.length;

/**
 * Where the tokens that a row computes begin. Over contiguous memory the kernel for one token rounds differently from the
 * kernel for many. So where only the last token of a prompt is left over, the token before it is computed again beside
 * it, to the same bits as before.
 */
function start({ sequence: { computed }, kind, newTokens }: PlannedRow, layout: KvLayout): number {
  const isLeftOver = layout === 'contiguous' && kind === 'prefill' && newTokens === 1 && computed > 0;
  return isLeftOver ? computed - 1 : computed;
}
