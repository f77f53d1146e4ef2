import { concatMap, map, of } from 'rxjs';
import type { Computed, Slot } from '../core/contracts/index.ts';
import { cutIntoRuns } from '../core/scheduling/cut-into-runs.ts';
import { forwardRuns } from './forward-rows.ts';

/**
 * The blocks of all rows are gathered as far as the longest one's, so that short rows cost as much as it does. A further
 * pass takes as long as gathering about so many tokens.
 */
const RUN_COST_TOKENS = 4096;

/**
 * Runs the newest token of every decoding sequence through the model and adds its logits `[vocab]`: all in one pass or,
 * over a paged cache with rows of very different length, in several.
 *
 *     computed:     --c-------------
 *     decodeStep(): ----computed----   (after the forward pass)
 */
export const decodeStep = (): Slot<Computed, Computed> => (context) => {
  const isPaged = context.kv.pool.layout === 'paged';
  return concatMap((step) => {
    const rows = step.rows.filter((row) => row.kind === 'decode' && !step.accepted.has(row.sequence.id));
    if (rows.length === 0) return of(step);
    const logits = new Map(step.logits);
    const runs = isPaged ? cutIntoRuns(rows, ({ sequence }) => sequence.computed, RUN_COST_TOKENS) : [rows];
    return forwardRuns({ runs, isFollowed: false, logits }, step, context).pipe(map(() => ({ ...step, logits })));
  });
};
