/** Prose that the draft model does not foresee: drafting always costs more than it brings, and the engine notices. */
import { prefixCaching, promptLookup, speculative } from 'rxllm';
import { textTable } from '../support/table.ts';
import { acceptance, always, kinds, outcomeOf, tokensPerS, withRecipes } from './by-kind.ts';

const recipes = [prefixCaching, always(4), speculative, always(8, promptLookup())];
const names = ['plain', 'always 4', 'speculative (adapts)', 'prompt lookup, 8'];

const rows = await withRecipes(recipes, async (engines) => {
  const found: (string | number)[][] = [];
  for (const kind of kinds) {
    // Once to warm up: the engine that adapts has then seen such text before, too.
    for (const engine of engines) await outcomeOf(engine, kind);
    let plain = 0;
    for (const [at, engine] of engines.entries()) {
      const outcome = await outcomeOf(engine, kind);
      const speed = tokensPerS(outcome);
      if (at === 0) plain = speed;
      found.push([
        kind.kind,
        names[at]!,
        outcome.proposed,
        Number(acceptance(outcome).toFixed(2)),
        Number(speed.toFixed(0)),
        Number((speed / plain).toFixed(2)),
      ]);
    }
  }
  return found;
});
console.log(textTable(['text', 'decoding', 'drafted', 'accepted', 'tokens/s', '× plain'], rows));
