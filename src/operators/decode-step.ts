import { concatMap, map, of } from 'rxjs';
import type {
  Allocated,
  BlockId,
  Computed,
  EngineContext,
  PlannedRow,
  SequenceId,
  Slot,
} from '../core/contracts/index.ts';
import { cutIntoRuns } from '../core/scheduling/cut-into-runs.ts';
import { forwardRuns } from './forward-rows.ts';

/**
 * The blocks of all rows are gathered as far as the longest one's, so that short rows cost as much as it does. A further
 * pass takes as long as gathering about so many tokens.
 */
const RUN_COST_TOKENS = 4096;

export interface DecodeStepOptions {
  /**
   * The rectangle stays as it was when its batch began: a row whose text has ended is computed on, as padding, until
   * the last one ends. What static batching does on most hardware, and what continuous batching saves. Default false.
   */
  readonly keepsBatch?: boolean;
}

/**
 * Runs the newest token of every decoding sequence through the model and adds its logits `[vocab]`: all in one pass or,
 * over a paged cache with rows of very different length, in several.
 *
 *     computed:     --c-------------
 *     decodeStep(): ----computed----   (after the forward pass)
 */
export const decodeStep =
  ({ keepsBatch = false }: DecodeStepOptions = {}): Slot<Computed, Computed> =>
  (context) => {
    const isPaged = context.kv.pool.layout === 'paged';
    const batch = new KeptBatch();
    return concatMap((step) => {
      if (keepsBatch) batch.follow(step, context);
      const rows = step.rows.filter((row) => row.kind === 'decode' && !step.accepted.has(row.sequence.id));
      if (rows.length === 0) return of(step);
      const logits = new Map(step.logits);
      const runs = isPaged ? cutIntoRuns(rows, ({ sequence }) => sequence.computed, RUN_COST_TOKENS) : [rows];
      const padding = keepsBatch ? batch.without(rows, step) : [];
      const pass = { runs, padding, isFollowed: false, logits };
      return forwardRuns(pass, step, context).pipe(map(() => ({ ...step, logits })));
    });
  };

/** Which slots of the pool the rows of a batch have, until the last of its sequences has ended. */
class KeptBatch {
  readonly #holders = new Map<BlockId, SequenceId>();

  follow({ rows, reservations }: Allocated, { running }: EngineContext): void {
    const held = new Set(this.#holders.values());
    if (!running.some(({ id }) => held.has(id))) this.#holders.clear();
    for (const { sequence } of rows) {
      const slot = reservations.get(sequence.id)?.blocks[0];
      if (slot !== undefined) this.#holders.set(slot, sequence.id);
    }
  }

  /** The slots of its other rows. */
  without(rows: readonly PlannedRow[], { reservations }: Allocated): (readonly BlockId[])[] {
    const used = new Set(rows.map(({ sequence }) => reservations.get(sequence.id)?.blocks[0]));
    return [...this.#holders.keys()].filter((slot) => !used.has(slot)).map((slot) => [slot]);
  }
}
