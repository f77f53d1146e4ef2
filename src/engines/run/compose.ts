import type { OperatorFunction } from 'rxjs';
import type { EngineContext, Settled, StagedRecipe, StepStage, Tick } from '../../core/contracts/index.ts';
import { checkSteps } from './check-steps.ts';

/** The stages of a recipe as one operator on the step, the observers behind each. Made once per engine. */
export function compose(recipe: StagedRecipe, context: EngineContext): OperatorFunction<Tick, Settled> {
  const observed = <I, O extends Tick>(stage: StepStage, operator: OperatorFunction<I, O>): OperatorFunction<I, O> => {
    const observers = recipe.observers.map((observer) => observer<O>(context, stage));
    const check = checkSteps<O>(stage, context);
    return (source) => observers.reduce((step$, observer) => observer(step$), check(operator(source)));
  };
  const schedule = observed('schedule', recipe.schedule(context));
  const allocate = observed('allocate', recipe.allocate(context));
  const prefill = observed('prefill', recipe.prefill(context));
  const decode = observed('decode', recipe.decode(context));
  const sample = observed('sample', recipe.sample(context));
  const detokenize = observed('detokenize', recipe.detokenize(context));
  const stop = observed('stop', recipe.stop(context));
  const settle = observed('settle', recipe.settle(context));
  const meter = observed('meter', recipe.meter(context));
  return (tick$) => tick$.pipe(schedule, allocate, prefill, decode, sample, detokenize, stop, settle, meter);
}
