/** The two engines in turn at 512 tokens, and TPOT against length, as a table and a picture. */
import { writeFileSync } from 'node:fs';
import { kvCache, type StagedRecipe, transformer } from 'rxllm';
import { median } from 'rxllm/bench';
import { args, size } from '../support/args.ts';
import { beforeAndAfter } from '../support/before-and-after.ts';
import { lineChart } from '../support/line-chart.ts';
import { writeMeasured } from '../support/measured.ts';
import { markdownTable } from '../support/table.ts';
import { byLength, tokenTimes } from '../support/tpot-by-length.ts';

const LENGTH = size(512, 24);
const WINDOW = size(64, 8);
const ROUNDS = size(3, 1);

const compared = await beforeAndAfter([transformer.name, kvCache.name], { pairs: size(7, 1), maxTokens: LENGTH });

/** Each token's median over the rounds. */
async function curve(recipe: StagedRecipe) {
  const rounds: number[][] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await tokenTimes(recipe, LENGTH));
  const times = rounds[0]!.map((_, token) => median(rounds.map((round) => round[token]!)));
  return { name: recipe.name, points: byLength(times, WINDOW) };
}
const series = [await curve(transformer), await curve(kvCache)];
const [without, withCache] = series.map(({ points }) => points) as [[number, number][], [number, number][]];

if (!args.quick) {
  const title = 'Time per token as the text grows';
  const svg = lineChart({ title, x: 'tokens so far', y: 'ms', series });
  writeFileSync(new URL('tpot.svg', import.meta.url), svg);
}
const rows = without.map(([tokens, ms], index) => [
  tokens,
  Number(ms.toFixed(2)),
  Number(withCache[index]![1].toFixed(2)),
]);
const grown = (points: readonly (readonly [number, number])[]) => (points.at(-1)![1] / points[0]![1]).toFixed(2);
writeMeasured(
  import.meta.url,
  `${compared}

![TPOT against length](tpot.svg)

${markdownTable(['tokens so far', '`transformer`, ms a token', '`kv-cache`, ms a token'], rows)}

From token ${rows[0]![0]} to ${rows.at(-1)![0]}, TPOT grows ${grown(without)} times for \`transformer\` and ${grown(withCache)} times for \`kv-cache\`.`,
);
