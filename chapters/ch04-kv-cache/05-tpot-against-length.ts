/** How long each token takes as a text grows, with and without the cache. `measure.ts` draws it. */
import { kvCache, transformer } from 'rxllm';
import { size } from '../support/args.ts';
import { textTable } from '../support/table.ts';
import { byLength, tokenTimes } from '../support/tpot-by-length.ts';

const LENGTH = size(512, 24);
const WINDOW = size(64, 8);
const without = byLength(await tokenTimes(transformer, LENGTH), WINDOW);
const withCache = byLength(await tokenTimes(kvCache, LENGTH), WINDOW);

const rows = without.map(([tokens, ms], index) => [
  tokens,
  Number(ms.toFixed(2)),
  Number(withCache[index]![1].toFixed(2)),
]);
console.log('TPOT in ms, the median of a window of tokens:\n');
console.log(textTable(['tokens so far', 'transformer', 'kv-cache'], rows));
const grown = (points: typeof without) => (points.at(-1)![1] / points[0]![1]).toFixed(2);
console.log(
  `\nfrom ${rows[0]![0]} to ${rows.at(-1)![0]} tokens: transformer × ${grown(without)}, kv-cache × ${grown(withCache)}`,
);
