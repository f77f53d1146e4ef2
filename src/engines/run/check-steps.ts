import { type MonoTypeOperatorFunction, tap } from 'rxjs';
import type { StepStage, Tick } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';

/** What each stage adds to the step. */
const ADDED: Readonly<Record<StepStage, readonly string[]>> = {
  schedule: ['preempted', 'ended', 'wakeAt'],
  allocate: ['reservations', 'deferred'],
  prefill: ['logits', 'drafts', 'accepted', 'logprobs'],
  decode: [],
  sample: ['produced', 'failed', 'late'],
  detokenize: ['text'],
  stop: [],
  settle: ['events'],
  meter: [],
};

/** In the order in which a step goes through them. */
export const STEP_STAGES = Object.keys(ADDED) as readonly StepStage[];

/**
 * Errors with RxllmError `RXLLM_RECIPE_INVALID` where a stage gives a step without what it must add, or has lost what it
 * was given. The types say so first, but not to who runs TypeScript without checking it.
 */
export function checkSteps<T extends Tick>(stage: StepStage): MonoTypeOperatorFunction<T> {
  const fields = ['index', 'now', 'rows', ...ADDED[stage]];
  return tap((step) => {
    const known = step as Readonly<Record<string, unknown>> | undefined;
    for (const field of fields) if (known?.[field] === undefined) throw incomplete(stage, field);
  });
}

function incomplete(stage: StepStage, field: string): RxllmError {
  const added = ADDED[stage].length > 0 ? ` and adds ${ADDED[stage].join(', ')}` : '';
  return new RxllmError(
    'RXLLM_RECIPE_INVALID',
    `The ${stage} stage gave a step without "${field}": it keeps what it is given ({ ...step })${added}.`,
  );
}
