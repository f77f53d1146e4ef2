import type { Recipe } from '../core/contracts/index.ts';
import type { PassObserver, Profile } from '../operators/profile.ts';
import { observe } from './swap.ts';

/**
 * The same recipe, with the profile behind each of its stages, around `tokenize` and around each forward pass. What readers
 * do with their events is apart from the rest of `between steps` once somebody subscribes to
 * `engine.stats$.pipe(profile.stage('deliver'))`.
 */
export function profiled(recipe: Recipe, profile: Profile, passes?: PassObserver): Recipe {
  const runtime = profile.runtime(recipe.runtime, passes);
  if (recipe.kind === 'staged') {
    return {
      ...observe(recipe, profile.observer),
      runtime,
      tokenize: (context) => profile.timed('tokenize', recipe.tokenize(context)),
    };
  }
  return {
    ...recipe,
    runtime,
    box: (context) => {
      const box = recipe.box(context);
      return (request$) => request$.pipe(profile.stage('between requests'), box, profile.stage('box'));
    },
  };
}
