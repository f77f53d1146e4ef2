import { pipe } from 'rxjs';
import type { Observer, Slot, StagedRecipe } from '../core/contracts/index.ts';

/** The same recipe with some slots exchanged. The types refuse an operator that does not fit its slot. */
export function swap(
  recipe: StagedRecipe,
  change: Partial<Omit<StagedRecipe, 'kind'>> & { readonly name: string },
): StagedRecipe {
  return { ...recipe, ...change };
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
