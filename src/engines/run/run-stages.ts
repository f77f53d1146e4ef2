import { firstValueFrom, Subject, share } from 'rxjs';
import type { EngineContext, Settled, StagedRecipe } from '../../core/contracts/index.ts';
import { toFrames } from './frames.ts';
import { createLoop } from './loop.ts';
import { createRequests } from './requests.ts';
import type { RunningEngine } from './running-engine.ts';
import { toStats } from './stats.ts';

/** A staged recipe: one loop turns its stages for all requests. */
export function runStages(recipe: StagedRecipe, context: EngineContext): RunningEngine {
  const settled$ = new Subject<Settled>();
  const loop = createLoop(recipe, context, (error, plans) => requests.fail(error, plans));
  const requests = createRequests(recipe, context, loop.wake);
  const turning = loop.step$.subscribe((step) => {
    requests.deliver(step);
    settled$.next(step);
  });
  return {
    stream: requests.stream,
    stats$: settled$.pipe(toStats(context), share()),
    watch: (everyMs) => settled$.pipe(toFrames(context, everyMs)),
    stop: async () => {
      requests.close();
      while (context.running.length > 0) await firstValueFrom(context.options.betweenSteps());
      turning.unsubscribe();
      settled$.complete();
    },
  };
}
