import type { Recipe } from '../core/contracts/index.ts';
import type { EngineEntry } from './registry.ts';

const NOT_SLOTS = ['name', 'kind', 'exact'];

/** The slots in which a recipe differs from the one it was made from. */
export function swappedSlots(recipe: Recipe, from: Recipe): string[] {
  const before: Readonly<Record<string, unknown>> = { ...from };
  const changed = Object.entries(recipe).filter(([slot, value]) => before[slot] !== value);
  return changed.map(([slot]) => slot).filter((slot) => !NOT_SLOTS.includes(slot));
}

/** What an engine changes of the one it was made from, for people to read; `before` is the entry above it. */
export function describeSwap({ recipe, from }: EngineEntry, before: EngineEntry | undefined): string {
  const origin = from ?? before?.recipe;
  if (origin === undefined) return '(the first)';
  if (origin.kind !== recipe.kind) return '(the box opened)';
  return swappedSlots(recipe, origin).join(', ');
}
