import { testEquality } from '../../test/support/equality.ts';
import { generateLoop } from './generate-loop.ts';

/**
 * Engines that recompute everything for each token take minutes for all 64 ids: here they say the first 16, and 2 after
 * the long prompts; `equality.full.ts` has them whole.
 */
testEquality((recipe, promptLength) => {
  const recomputes = recipe.kind === 'opaque' || recipe.kv === generateLoop.kv;
  if (!recomputes) return 64;
  return promptLength > 256 ? 2 : 16;
});
