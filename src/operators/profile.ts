import { type Observable, tap } from 'rxjs';
import type { Observer, StepStage, Tick } from '../core/contracts/index.ts';

export interface StageTime {
  readonly stage: StepStage;
  readonly steps: number;
  /** Own time of the stage over all steps, in milliseconds; a forward pass is within prefill and decode. */
  readonly totalMs: number;
}

export interface Profile {
  /** Stands behind each stage: `observe(recipe, profile.observer)`. */
  readonly observer: Observer;
  /** In the order in which the stages run. */
  readonly stages: () => readonly StageTime[];
}

/**
 * Times each stage from the stream itself: what passes behind a stage less what passed behind the one before it.
 *
 *     schedule   profile   allocate   profile
 *     --s--------s---------a----------a-------
 *                ^ now − tick.now     ^ now − the mark before
 */
export function profile(): Profile {
  const times = new Map<StepStage, { steps: number; totalMs: number }>();
  let step = -1;
  let mark = 0;
  const observer: Observer =
    <T extends Tick>(context: Parameters<Observer>[0], stage: StepStage) =>
    (source: Observable<T>) =>
      source.pipe(
        tap((tick: T) => {
          const now = context.options.clock.now();
          const since = tick.index === step ? mark : tick.now;
          const time = times.get(stage) ?? { steps: 0, totalMs: 0 };
          time.steps += 1;
          time.totalMs += now - since;
          times.set(stage, time);
          step = tick.index;
          mark = now;
        }),
      );
  return { observer, stages: () => [...times].map(([stage, time]) => ({ stage, ...time })) };
}
