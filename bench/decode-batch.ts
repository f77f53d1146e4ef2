/**
 * A decode step at batch 8 against batch 1, float32 on SmolLM2-135M's shape: `npx tsx bench/decode-batch.ts [MODEL_DIR]`.
 * The two take turns; a ratio of tokens/s is the median over the pairs. Exits 1 below 2.5 at a context of 128.
 */
import { median, quartiles } from '../src/bench/stats.ts';
import { DecodeBench } from './support/decode-bench.ts';
import { randomSmolLm } from './support/random-model.ts';
import { describeMachine, printTable } from './support/report.ts';

const PAIRS = 15;
const STEPS = 10;
const BATCH = 8;
const LEAST = 2.5;

const directory = process.argv[2] ?? (await randomSmolLm());
const rows = [];
for (const layout of ['contiguous', 'paged'] as const) {
  const one = await DecodeBench.start({ directory, layout, batch: 1, context: 128 });
  const many = await DecodeBench.start({ directory, layout, batch: BATCH, context: 128 });
  if (rows.length === 0) describeMachine(one.runner, directory);
  const pairs: (readonly [number, number])[] = [];
  for (let i = 0; i < PAIRS; i++) pairs.push([median(await one.steps(STEPS)), median(await many.steps(STEPS))]);
  const ratios = pairs.map(([ofOne, ofMany]) => (BATCH * ofOne) / ofMany);
  if (median(ratios) < LEAST) process.exitCode = 1;
  const rates = pairs.map(([ofOne, ofMany]) => [1000 / ofOne, (1000 * BATCH) / ofMany] as const);
  const figures = [median(rates.map(([rate]) => rate)), median(rates.map(([, rate]) => rate))];
  rows.push([layout, ...figures.map((rate) => rate.toFixed(0)), median(ratios).toFixed(2), quartiles(ratios, 2)]);
  await Promise.all([one.runner.dispose(), many.runner.dispose()]);
}
printTable(['layout', 'batch 1, tokens/s', `batch ${BATCH}, tokens/s`, 'ratio', 'quartiles'], rows);
