/**
 * A decode step over paged blocks against its contiguous twin, float32: `npx tsx bench/paged-step.ts [MODEL_DIR]`, without
 * a folder on SmolLM2-135M's shape. The two take turns; a ratio is the median over the pairs. Exits 1 above 1.35.
 */
import { DecodeBench, describeMachine, median, printTable, quantile } from './support/decode-bench.ts';
import { randomSmolLm } from './support/random-checkpoint.ts';

const PAIRS = 15;
const STEPS = 10;
const MOST = 1.35;

const directory = process.argv[2] ?? randomSmolLm();
const rows = [];
for (const batch of [1, 8]) {
  for (const context of [128, 1024]) {
    const paged = await DecodeBench.start({ directory, layout: 'paged', batch, context });
    const contiguous = await DecodeBench.start({ directory, layout: 'contiguous', batch, context });
    if (rows.length === 0) describeMachine(paged.runner, directory);
    const pairs: (readonly [number, number])[] = [];
    for (let i = 0; i < PAIRS; i++)
      pairs.push([median(await paged.steps(STEPS)), median(await contiguous.steps(STEPS))]);
    const ratios = pairs.map(([ofPaged, ofContiguous]) => ofPaged / ofContiguous);
    if (median(ratios) > MOST) process.exitCode = 1;
    const figures = [median(pairs.map(([ms]) => ms)), median(pairs.map(([, ms]) => ms)), median(ratios)];
    const quartiles = `${quantile(ratios, 0.25).toFixed(2)} to ${quantile(ratios, 0.75).toFixed(2)}`;
    rows.push([batch, context, ...figures.map((value) => value.toFixed(2)), quartiles]);
    await Promise.all([paged.runner.dispose(), contiguous.runner.dispose()]);
  }
}
printTable(['batch', 'context', 'paged, ms', 'contiguous, ms', 'ratio', 'quartiles'], rows);
