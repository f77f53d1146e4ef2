import type { Recipe } from '../core/contracts/index.ts';

/** The slots in which a recipe differs from the one it was made from. */
export function swappedSlots(recipe: Recipe, from: Recipe): string[] {
  const before: Readonly<Record<string, unknown>> = { ...from };
  return Object.entries(recipe)
    .filter(([slot, value]) => slot !== 'name' && slot !== 'kind' && slot !== 'exact' && before[slot] !== value)
    .map(([slot]) => slot);
}
