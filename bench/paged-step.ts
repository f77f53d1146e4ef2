/**
 * A decode step over paged blocks against its contiguous twin, float32: `npx tsx bench/paged-step.ts [MODEL_DIR]`, without
 * a folder on SmolLM2-135M's shape. The two take turns; a ratio is the median over the pairs. Exits 1 above 1.35.
 */
import { median, quartiles } from '../src/bench/stats.ts';
import { pagedAgainstContiguous } from './support/paged-against-contiguous.ts';
import { randomSmolLm } from './support/random-model.ts';
import { describeMachine, printTable } from './support/report.ts';

const TURNS = { pairs: 15, steps: 10 };
const MOST = 1.35;

const directory = process.argv[2] ?? (await randomSmolLm());
const rows = [];
for (const batch of [1, 8]) {
  for (const context of [128, 1024]) {
    const settings = { directory, batch, context };
    const { description, paged, contiguous, ratios } = await pagedAgainstContiguous(settings, TURNS);
    if (rows.length === 0) describeMachine({ description }, directory);
    if (median(ratios) > MOST) process.exitCode = 1;
    const figures = [median(paged), median(contiguous), median(ratios)];
    rows.push([batch, context, ...figures.map((value) => value.toFixed(2)), quartiles(ratios, 2)]);
  }
}
printTable(['batch', 'context', 'paged, ms', 'contiguous, ms', 'ratio', 'quartiles'], rows);
