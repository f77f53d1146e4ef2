import { filter, firstValueFrom, forkJoin, map, merge, Observable, take } from 'rxjs';
import type {
  Engine,
  EngineContext,
  EngineOptions,
  GenerateResult,
  Model,
  Prompt,
  Recipe,
  SamplingParams,
} from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { resolveOptions } from './options.ts';
import { disposeAll } from './run/dispose-all.ts';
import { engineContext } from './run/engine-context.ts';
import { runBox } from './run/run-box.ts';
import { runStages } from './run/run-stages.ts';
import type { RunningEngine } from './run/running-engine.ts';

/**
 * An engine from a recipe: allocator, graph, runner, and what drives them. Nothing runs until the first request arrives.
 * @throws RxllmError `RXLLM_OPTION_INVALID`, `RXLLM_RUNTIME_UNAVAILABLE`, `RXLLM_RECIPE_INVALID`, and what `owned` throws
 */
export async function createEngine(recipe: Recipe, model: Model, given: Partial<EngineOptions> = {}): Promise<Engine> {
  checkRecipe(recipe);
  const options = resolveOptions(model, given);
  const context = await engineContext(recipe, model, options);
  const { stream, stats$, watch, stop } = await start(recipe, context);

  const result$ = (prompt: Prompt, maxNewTokens?: number, params: Partial<SamplingParams> = {}) =>
    stream({ prompt, params: maxNewTokens === undefined ? params : { ...params, maxTokens: maxNewTokens } }).pipe(
      filter((event) => event.type === 'finished'),
      map(({ result }): GenerateResult => result),
    );

  let closing: Promise<void> | undefined;
  const close = async () => {
    await stop();
    await disposeAll(context);
  };

  return {
    name: recipe.name,
    model,
    options,
    pool: context.kv.pool,
    description: context.runner.description,
    stream,
    generate: (prompt, maxNewTokens, params, { signal } = {}) => {
      const result = result$(prompt, maxNewTokens, params);
      return firstValueFrom(signal ? merge(aborted(signal), result).pipe(take(1)) : result);
    },
    generateBatch: (prompts, maxNewTokens, params) =>
      prompts.length === 0
        ? Promise.resolve([])
        : firstValueFrom(forkJoin(prompts.map((prompt) => result$(prompt, maxNewTokens, params)))),
    stats$,
    watch,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** What the types refuse, for those who run a file without checking them. */
function checkRecipe(recipe: Recipe): void {
  const kind: unknown = recipe?.kind;
  if (kind === 'staged' || kind === 'opaque') return;
  const given: unknown = recipe;
  throw new RxllmError('RXLLM_RECIPE_INVALID', `createEngine takes a recipe, such as \`kvCache\`${recipeHint(given)}.`);
}

function recipeHint(given: unknown): string {
  if (typeof given === 'string') return `; by its name, \`findEngine('${given}').recipe\``;
  if (typeof given === 'function') {
    return '; a policy goes into a slot: `swap(continuous, { name, schedule: schedule(policy) })`';
  }
  return ' or `findEngine(name).recipe`';
}

/** Runs the recipe once what its slots have started is there; where it cannot, nothing of it is left. */
async function start(recipe: Recipe, context: EngineContext): Promise<RunningEngine> {
  let running: RunningEngine | undefined;
  try {
    running = recipe.kind === 'staged' ? runStages(recipe, context) : runBox(recipe, context);
    await Promise.all(context.owned);
    return running;
  } catch (error) {
    await running?.stop();
    await disposeAll(context);
    throw error;
  }
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
