import type { MonoTypeOperatorFunction } from 'rxjs';
import type { EngineContext, Planned, Sampled, SequenceId, StepStage, Tick } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { onEach } from '../../core/on-each.ts';

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
 * was given, which the types say first, but not to who runs TypeScript without checking it; and where `schedule` plans rows
 * or `sample` chooses tokens that there cannot be.
 */
export function checkSteps<T extends Tick>(stage: StepStage, context: EngineContext): MonoTypeOperatorFunction<T> {
  const fields = ['index', 'now', 'rows', ...ADDED[stage]];
  const checkValues = VALUES[stage]?.(context);
  return onEach((step) => {
    const known = step as Readonly<Record<string, unknown>> | undefined;
    for (const field of fields) if (known?.[field] === undefined) throw incomplete(stage, field);
    checkValues?.(step);
  });
}

const VALUES: Partial<Record<StepStage, (context: EngineContext) => (step: Tick) => void>> = {
  schedule: () => {
    const seen = new Set<SequenceId>();
    return (step) => {
      seen.clear();
      for (const { sequence, newTokens } of (step as Planned).rows) {
        const { id, tokens, computed } = sequence;
        const left = tokens.length - computed;
        if (seen.has(id))
          throw invalid(`The schedule stage planned two rows of the sequence ${id}; one a step is right.`);
        if (!Number.isInteger(newTokens) || newTokens < 1 || newTokens > left) {
          throw invalid(
            `The schedule stage planned ${newTokens} new tokens of the sequence ${id}, of which ${left} are to run.`,
          );
        }
        seen.add(id);
      }
    };
  },
  sample: ({ model }) => {
    const { vocab } = model.config;
    return (step) => {
      for (const [id, ids] of (step as Sampled).produced) {
        for (const token of ids) {
          if (Number.isInteger(token) && token >= 0 && token < vocab) continue;
          throw invalid(
            `The sample stage chose the token ${token} for the sequence ${id}; ids go from 0 to ${vocab - 1}.`,
          );
        }
      }
    };
  },
};

const invalid = (message: string) => new RxllmError('RXLLM_RECIPE_INVALID', message);

function incomplete(stage: StepStage, field: string): RxllmError {
  const added = ADDED[stage].length > 0 ? ` and adds ${ADDED[stage].join(', ')}` : '';
  return invalid(`The ${stage} stage gave a step without "${field}": it keeps what it is given ({ ...step })${added}.`);
}
