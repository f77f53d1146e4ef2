import { testEquality } from '../../test/support/equality.ts';
import { generateLoop } from './generate-loop.ts';

/** Engines that recompute everything for each token take minutes for the long prompts: `equality.full.ts` has them whole. */
testEquality((recipe, promptLength) => {
  const recomputes = recipe.kind === 'opaque' || recipe.kv === generateLoop.kv;
  return recomputes && promptLength > 256 ? 4 : 64;
});
