/**
 * Milliseconds a decode step on the native runner: `npx tsx bench/decode-step.ts [MODEL_DIR]`.
 * All variants take turns, so that what else the machine does hits them alike.
 */

import { median, percentile } from '../src/bench/stats.ts';
import type { KvLayout } from '../src/core/contracts/index.ts';
import { DecodeBench } from './support/decode-bench.ts';
import { describeMachine, printTable } from './support/report.ts';

const LAYOUTS: readonly KvLayout[] = ['paged', 'contiguous'];
const BATCHES = [1, 8];
const CONTEXTS = [128, 1024];
const ROUNDS = 5;
const STEPS = 40;

const directory = process.argv[2] ?? 'models/storyteller-12m';
const variants = [];
for (const layout of LAYOUTS) {
  for (const batch of BATCHES) {
    for (const context of CONTEXTS) {
      variants.push({ bench: await DecodeBench.start({ directory, layout, batch, context }), layout, batch, context });
    }
  }
}

const times = variants.map((): number[] => []);
for (let round = 0; round < ROUNDS; round++) {
  for (const [i, { bench }] of variants.entries()) times[i]!.push(...(await bench.steps(STEPS)));
}

describeMachine(variants[0]!.bench.runner, directory);
printTable(
  ['layout', 'batch', 'context', 'median ms', 'p10 ms', 'p90 ms', 'tokens/s'],
  variants.map(({ layout, batch, context }, i) => {
    const ms = times[i]!;
    const columns = [median(ms), percentile(ms, 10), percentile(ms, 90)].map((value) => value.toFixed(2));
    return [layout, batch, context, ...columns, ((1000 * batch) / median(ms)).toFixed(0)];
  }),
);
await Promise.all(variants.map(({ bench }) => bench.runner.dispose()));
