import { tap } from 'rxjs';
import type { EngineContext, Observer, Settled, StepStage, Tick } from 'rxllm';

/** Looks at each step as it comes out of a stage; what is in it by then is known by the stage (`contracts/step.ts`). */
export const watch =
  (at: StepStage, look: (step: Settled, context: EngineContext) => void): Observer =>
  <T extends Tick>(context: EngineContext, stage: StepStage) =>
    tap<T>((step) => {
      if (stage === at) look(step as unknown as Settled, context);
    });
