import { concatMap, map, of } from 'rxjs';
import type { Allocated, Computed, SequenceId, Slot } from '../core/contracts/index.ts';
import { forwardRows } from './forward-rows.ts';

const NOTHING_YET: Pick<Computed, 'drafts' | 'accepted' | 'logprobs'> = {
  drafts: new Map(),
  accepted: new Map(),
  logprobs: new Map(),
};

/**
 * Runs the plan's prompt chunks through the model. A prompt whose last chunk ran has logits `[vocab]` after it.
 *
 *     allocated: --a-------------
 *     prefill(): -----computed---   (after the forward pass)
 */
export const prefill = (): Slot<Allocated, Computed> => (context) =>
  concatMap((step) => {
    const rows = step.rows.filter((row) => row.kind === 'prefill');
    const logits = new Map<SequenceId, Float32Array>();
    const computed: Computed = { ...step, ...NOTHING_YET, logits };
    if (rows.length === 0) return of(computed);
    // Copied, for the decode run of this step reuses the runner's buffer.
    return forwardRows(rows, step, context, (id, row) => logits.set(id, row.slice())).pipe(map(() => computed));
  });
