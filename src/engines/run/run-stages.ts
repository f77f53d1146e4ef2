import { firstValueFrom, merge, Subject, share } from 'rxjs';
import type { EngineContext, Settled, StagedRecipe } from '../../core/contracts/index.ts';
import { toFrames } from './frames.ts';
import { createLoop } from './loop.ts';
import { createRequests } from './requests.ts';
import type { RunningEngine } from './running-engine.ts';
import { toStats } from './stats.ts';

/** A staged recipe: one loop turns its stages for all requests. */
export function runStages(recipe: StagedRecipe, context: EngineContext): RunningEngine {
  const settled$ = new Subject<Settled>();
  const failed$ = new Subject<void>();
  const loop = createLoop(recipe, context, (error, plans) => {
    const changed = requests.fail(error, plans);
    failed$.next();
    return changed;
  });
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
      // Who leaves with a step is out when it has ended, well or with an error.
      while (context.running.length > 0) await firstValueFrom(merge(settled$, failed$));
      turning.unsubscribe();
      settled$.complete();
    },
  };
}
