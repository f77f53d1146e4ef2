import { firstValueFrom, of, tap } from 'rxjs';
import type {
  Computed,
  EngineContext,
  Observer,
  Planned,
  Settled,
  StagedRecipe,
  StepStage,
  Tick,
} from '../../core/contracts/index.ts';
import { failStep } from '../../core/scheduling/fail-step.ts';
import { compose } from '../run/compose.ts';
import { observe, pipeSlots } from '../swap.ts';

/** The steps of a recipe, taken one at a time as a recording tells of them. */
export interface ReplayedSteps {
  /** Happens while the passes of the coming step run. */
  during(happen: () => void): void;
  run(tick: Tick): Promise<Settled>;
  /**
   * A step that ends with an error behind this stage. What it did until then stays done, as in the recording: sequences
   * that were admitted or preempted, and blocks that were given to others.
   */
  fail(tick: Tick, stage: StepStage): Promise<void>;
}

export function replayedSteps(recipe: StagedRecipe, context: EngineContext): ReplayedSteps {
  let during: (() => void)[] = [];
  let failsIn: StepStage | undefined;
  let plan: Planned | undefined;

  const meanwhile = () =>
    tap<Computed>(() => {
      for (const happen of during.splice(0)) happen();
    });
  const fault: Observer = <T extends Tick>(_: EngineContext, stage: StepStage) =>
    tap<T>((step) => {
      // As in the loop: a sequence for which there is no room has no row any more.
      if (stage === 'schedule' || stage === 'allocate') plan = step as unknown as Planned;
      if (stage === failsIn) throw new Error(`the stage ${stage} fails, as in the recording`);
    });
  const stages = compose(observe({ ...recipe, decode: pipeSlots(recipe.decode, meanwhile) }, fault), context);

  return {
    during: (happen) => during.push(happen),
    run: async (tick) => {
      const step = await firstValueFrom(of(tick).pipe(stages));
      during = [];
      return step;
    },
    fail: async (tick, stage) => {
      const before = [...context.running];
      failsIn = stage;
      plan = undefined;
      await firstValueFrom(of(tick).pipe(stages)).catch(() => {});
      failsIn = undefined;
      const hasEnded = before.some(({ phase }) => phase === 'finished');
      failStep(plan ? [plan] : [], hasEnded, context);
    },
  };
}
