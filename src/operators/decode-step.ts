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
 * In one pass, every row's blocks are gathered up to the length of the longest row, so that a short row costs as much as a
 * long one. One pass more costs about as much as gathering this many tokens.
 */
const RUN_COST_TOKENS = 4096;

export interface DecodeStepOptions {
  /**
   * The batch keeps its number of rows: one whose text has ended is still computed, as padding, until the last one ends.
   * That is what static batching costs on most hardware, and what continuous batching saves. Default false.
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

/** The slots of the pool that a batch's rows have, until the last of its sequences has ended. */
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

  /** The slots of the batch's rows but for these. */
  without(rows: readonly PlannedRow[], { reservations }: Allocated): (readonly BlockId[])[] {
    const used = new Set(rows.map(({ sequence }) => reservations.get(sequence.id)?.blocks[0]));
    return [...this.#holders.keys()].filter((slot) => !used.has(slot)).map((slot) => [slot]);
  }
}
