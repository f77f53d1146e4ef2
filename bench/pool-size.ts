/**
 * A decode step must not cost more because the KV pool is larger: `npx tsx bench/pool-size.ts [MODEL_DIR]` compares pools
 * of 256 and 4,096 blocks of 16 tokens, in turns, and exits 1 if the median ratio of a layout is above 1.1.
 */
import { median, quartiles } from '../src/bench/stats.ts';
import { DecodeBench } from './support/decode-bench.ts';
import { describeMachine, printTable } from './support/report.ts';

const BLOCK_SIZE = 16;
const SMALL = 256;
const LARGE = 4096;
const PAIRS = 25;
const STEPS = 20;
const MOST = 1.1;

/** The best of a turn: what other programs on the machine do only ever adds. */
const best = async (bench: DecodeBench) => Math.min(...(await bench.steps(STEPS)));

const directory = process.argv[2] ?? 'models/storyteller-12m';
const rows = [];
let failed = false;
for (const layout of ['paged', 'contiguous'] as const) {
  const settings = { directory, layout, batch: 1, context: 128 };
  const small = await DecodeBench.start({ ...settings, poolTokens: SMALL * BLOCK_SIZE });
  const large = await DecodeBench.start({ ...settings, poolTokens: LARGE * BLOCK_SIZE });
  if (rows.length === 0) describeMachine(small.runner, directory);
  const pairs: (readonly [number, number])[] = [];
  for (let i = 0; i < PAIRS; i++) {
    // Each goes first as often as the other.
    const largeFirst = i % 2 === 1 ? await best(large) : undefined;
    const ofSmall = await best(small);
    pairs.push([ofSmall, largeFirst ?? (await best(large))]);
  }
  const ratios = pairs.map(([ofSmall, ofLarge]) => ofLarge / ofSmall);
  failed ||= median(ratios) > MOST;
  const figures = [median(pairs.map(([ms]) => ms)), median(pairs.map(([, ms]) => ms)), median(ratios)];
  rows.push([layout, ...figures.map((value) => value.toFixed(3)), quartiles(ratios, 3)]);
  await Promise.all([small.runner.dispose(), large.runner.dispose()]);
}
printTable(['layout', `${SMALL} blocks, ms`, `${LARGE} blocks, ms`, 'ratio', 'quartiles'], rows);
process.exitCode = failed ? 1 : 0;
