import { concatMap, map, of } from 'rxjs';
import type { Computed, Slot } from '../core/contracts/index.ts';
import { forwardRows } from './forward-rows.ts';

/**
 * Runs the newest token of every decoding sequence through the model, all in one pass, and adds its logits `[vocab]`.
 *
 *     computed:     --c-------------
 *     decodeStep(): ----computed----   (after the forward pass)
 */
export const decodeStep = (): Slot<Computed, Computed> => (context) =>
  concatMap((step) => {
    const rows = step.rows.filter((row) => row.kind === 'decode' && !step.accepted.has(row.sequence.id));
    if (rows.length === 0) return of(step);
    const logits = new Map(step.logits);
    return forwardRows(rows, step, context, (id, row) => logits.set(id, row)).pipe(map(() => ({ ...step, logits })));
  });
