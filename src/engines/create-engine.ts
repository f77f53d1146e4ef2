import { filter, firstValueFrom, forkJoin, map, merge, Observable, Subject, share, take } from 'rxjs';
import type {
  Engine,
  EngineContext,
  EngineOptions,
  GenerateResult,
  Model,
  Prompt,
  SamplingParams,
  Settled,
  StagedRecipe,
} from '../core/contracts/index.ts';
import { createLoop } from './loop.ts';
import { resolveOptions } from './options.ts';
import { createRequests } from './requests.ts';
import { toStats } from './stats.ts';

/**
 * An engine from a recipe: allocator, graph, runner and loop. Nothing runs until the first request arrives.
 * @throws RxllmError `RXLLM_OPTION_INVALID`, `RXLLM_RUNTIME_UNAVAILABLE`, `RXLLM_RECIPE_INVALID`
 */
export async function createEngine(
  recipe: StagedRecipe,
  model: Model,
  given: Partial<EngineOptions> = {},
): Promise<Engine> {
  const options = resolveOptions(model, given);
  const kv = recipe.kv(model, options);
  const runner = await recipe.runtime(recipe.model(model, kv.pool.layout), model, kv.pool);
  const context: EngineContext = { options, model, runner, kv, waiting: [], running: [] };

  const settled$ = new Subject<Settled>();
  const loop = createLoop(recipe, context, (error) => requests.fail(error));
  const requests = createRequests(recipe, context, loop.wake);
  const turning = loop.step$.subscribe((step) => {
    requests.deliver(step);
    settled$.next(step);
  });

  const result$ = (prompt: Prompt, maxNewTokens?: number, params: Partial<SamplingParams> = {}) =>
    requests
      .stream({ prompt, params: maxNewTokens === undefined ? params : { ...params, maxTokens: maxNewTokens } })
      .pipe(
        filter((event) => event.type === 'finished'),
        map(({ result }): GenerateResult => result),
      );

  let closing: Promise<void> | undefined;
  const close = async () => {
    requests.close();
    while (context.running.length > 0) await firstValueFrom(options.betweenSteps());
    turning.unsubscribe();
    settled$.complete();
    await runner.dispose();
  };

  return {
    name: recipe.name,
    model,
    options,
    pool: kv.pool,
    description: runner.description,
    stream: requests.stream,
    generate: (prompt, maxNewTokens, params, { signal } = {}) => {
      const result = result$(prompt, maxNewTokens, params);
      return firstValueFrom(signal ? merge(aborted(signal), result).pipe(take(1)) : result);
    },
    generateBatch: (prompts, maxNewTokens, params) =>
      prompts.length === 0
        ? Promise.resolve([])
        : firstValueFrom(forkJoin(prompts.map((prompt) => result$(prompt, maxNewTokens, params)))),
    stats$: settled$.pipe(toStats(context), share()),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Errors with the signal's reason, an `AbortError` unless its owner chose another. */
function aborted(signal: AbortSignal): Observable<never> {
  return new Observable((subscriber) => {
    const onAbort = () => subscriber.error(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    return () => signal.removeEventListener('abort', onAbort);
  });
}
