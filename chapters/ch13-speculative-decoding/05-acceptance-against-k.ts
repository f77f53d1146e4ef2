/** Longer drafts: each token further back stands more rarely, and costs as much. By kind of text. */
import { size } from '../support/args.ts';
import { textTable } from '../support/table.ts';
import { acceptance, always, kinds, outcomeOf, tokensPerPass, tokensPerS, withRecipes } from './by-kind.ts';

const LENGTHS = [1, 2, 4, 6, 8].slice(0, size(5, 2));

const rows = await withRecipes(
  LENGTHS.map((k) => always(k)),
  async (engines) => {
    const found: (string | number)[][] = [];
    for (const kind of kinds.filter((one) => one.kind !== 'repeating')) {
      for (const [at, k] of LENGTHS.entries()) {
        const outcome = await outcomeOf(engines[at]!, kind);
        const last = outcome.perPosition[k - 1] ?? 0;
        found.push([
          kind.kind,
          k,
          Number(acceptance(outcome).toFixed(2)),
          Number((last / Math.max(1, outcome.drafts)).toFixed(2)),
          Number(tokensPerPass(outcome).toFixed(2)),
          Number(tokensPerS(outcome).toFixed(0)),
        ]);
      }
    }
    return found;
  },
);
console.log(textTable(['text', 'k', 'accepted', 'the k-th', 'tokens a pass', 'tokens/s'], rows));
