import { pipe } from 'rxjs';
import type { Observer, Slot, StagedRecipe } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';

/**
 * The same recipe with some slots exchanged. The types refuse an operator that does not fit its slot.
 * @throws RxllmError `RXLLM_RECIPE_INVALID` where there are no such slots, or no name
 */
export function swap(
  recipe: StagedRecipe,
  change: Partial<Omit<StagedRecipe, 'kind'>> & { readonly name: string },
): StagedRecipe {
  const problem = swapProblem(recipe, change);
  if (problem !== undefined) throw new RxllmError('RXLLM_RECIPE_INVALID', `swap: ${problem}.`);
  return { ...recipe, ...change };
}

/** What the types refuse, for those who run a file without checking them. */
function swapProblem(recipe: StagedRecipe, change: Partial<StagedRecipe>): string | undefined {
  if (recipe?.kind !== 'staged') {
    const { name } = (recipe ?? {}) as { readonly name?: unknown };
    return `${name ?? recipe} has no slots to swap; take a recipe such as \`kvCache\``;
  }
  if (typeof change.name !== 'string' || change.name === '') return 'the new recipe needs a `name` of its own';
  const { kind, ...slots } = recipe;
  // Another recipe, spread, brings its kind along.
  const known = change.kind === kind ? recipe : slots;
  const unknown = Object.keys(change).find((slot) => !(slot in known));
  return unknown && `there is no slot "${unknown}"; there is ${Object.keys(slots).join(', ')}`;
}

/** The same recipe with observers (`profile().observer`) added behind each stage. */
export function observe(recipe: StagedRecipe, ...observers: readonly Observer[]): StagedRecipe {
  return { ...recipe, observers: [...recipe.observers, ...observers] };
}

/** Two operators in one slot. */
export const pipeSlots =
  <A, B, C>(first: Slot<A, B>, second: Slot<B, C>): Slot<A, C> =>
  (context) =>
    pipe(first(context), second(context));
