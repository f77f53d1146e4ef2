import { concatMap, map, of } from 'rxjs';
import type { Allocated, Computed, SequenceId, Slot } from '../core/contracts/index.ts';
import { cutIntoRuns } from '../core/scheduling/cut-into-runs.ts';
import { forwardRuns } from './forward-rows.ts';

/** One pass more reads all weights again, which takes about as long as computing this many tokens. */
const RUN_COST_TOKENS = 16;

const NOTHING_YET: Pick<Computed, 'drafts' | 'accepted' | 'logprobs'> = {
  drafts: new Map(),
  accepted: new Map(),
  logprobs: new Map(),
};

/**
 * Runs the plan's prompt chunks through the model, in one pass or, where padding would cost more, in several. A prompt
 * whose last chunk ran has logits `[vocab]` after it.
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
    const runs = cutIntoRuns(rows, ({ newTokens }) => newTokens, RUN_COST_TOKENS);
    return forwardRuns({ runs, isFollowed: true, logits }, step, context).pipe(map(() => computed));
  });
