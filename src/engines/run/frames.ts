import { defer, map, type OperatorFunction, startWith, tap, throttleTime } from 'rxjs';
import type {
  EngineContext,
  EngineFrame,
  RowTrace,
  Sequence,
  SequenceTrace,
  Settled,
  StepTrace,
} from '../../core/contracts/index.ts';
import { verified } from '../../core/speculation/draft-counts.ts';

/** Steps that one frame tells of; of more, the latest. */
const MOST_STEPS = 256;

/**
 * Pictures of an engine for people to look at: one at once, then at most one in `everyMs` of the engine's clock, each
 * with the steps since the one before.
 *
 *     settled:      --s-s-s-s-----------s---
 *     toFrames(5):  f-f----f----f-------f---
 */
export function toFrames(context: EngineContext, everyMs: number): OperatorFunction<Settled, EngineFrame> {
  return (settled$) =>
    defer(() => {
      let steps: StepTrace[] = [];
      const take = (): EngineFrame => {
        const taken = steps;
        steps = [];
        return {
          steps: taken,
          running: context.running.map(toSequenceTrace),
          waiting: context.waiting.map(toSequenceTrace),
          kv: context.kv.snapshot(),
        };
      };
      return settled$.pipe(
        tap((step) => {
          steps.push(toStepTrace(step, context.options.clock.now()));
          if (steps.length > MOST_STEPS) steps.shift();
        }),
        throttleTime(everyMs, context.options.clock, { leading: true, trailing: true }),
        startWith(undefined),
        map(take),
      );
    });
}

function toSequenceTrace({ id, phase, promptLength, tokens, computed, cached }: Sequence): SequenceTrace {
  return { id, phase, promptLength, length: tokens.length, computed, cached };
}

/** By value: the step's own maps and sequences live on. */
function toStepTrace(step: Settled, now: number): StepTrace {
  const drafts = new Map(Array.from(verified(step), ([{ id }, drafted, accepted]) => [id, { drafted, accepted }]));
  return {
    index: step.index,
    rows: step.rows.map(({ sequence: { id }, kind, newTokens }): RowTrace => {
      return { id, kind, tokens: newTokens, ...(drafts.get(id) ?? { drafted: 0, accepted: 0 }) };
    }),
    preempted: step.preempted.map(({ id }) => id),
    firstTokens: step.rows.flatMap(({ sequence: { id, arrivedAt, tokens, promptLength } }) => {
      const produced = step.produced.get(id)?.length ?? 0;
      return produced > 0 && tokens.length === promptLength + produced ? [{ id, ttftMs: now - arrivedAt }] : [];
    }),
    finished: step.ended.flatMap(({ id }) => {
      const last = step.events.get(id)?.at(-1);
      return last?.type === 'finished' ? [{ id, reason: last.result.finishReason, metrics: last.result.metrics }] : [];
    }),
  };
}
