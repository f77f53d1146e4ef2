/**
 * Whether memory stays flat: 1,000 generations on one engine (or as many as the first argument says), prompts of 8 to
 * 256 tokens, resident memory after every tenth and a garbage collection. Flat means that it rises by less than 2% over the last half, from the
 * median of its first part to that of its second. Exits 1 where it does not.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createProgress } from '../src/bench/progress.ts';
import { percentile } from '../src/bench/stats.ts';
import { syntheticWorkload } from '../src/bench/workload.ts';
import { EMBEDDED_MODEL } from '../src/cli/options.ts';
import { loadModel } from '../src/core/model/load-model.ts';
import { createRandom } from '../src/core/sampling/random.ts';
import { createEngine, kvCache } from '../src/engines/index.ts';

const generations = Number(process.argv[2] ?? 1000);
const SAMPLED_EVERY = 10;
const LIMIT = 0.02;

// Garbage that is still to be collected says nothing about a leak.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const model = await loadModel(EMBEDDED_MODEL);
const engine = await createEngine(kvCache, model);
const { requests } = syntheticWorkload({
  requests: generations,
  promptLength: { type: 'log-uniform', min: 8, max: 256 },
  outputLength: { type: 'uniform', min: 2, max: 16 },
  vocab: model.config.vocab,
  eosIds: model.tokenizer.eosIds,
  random: createRandom(0),
});

const residentMiB: number[] = [];
const progress = createProgress('generations', generations);
for (const [index, { prompt, params }] of requests.entries()) {
  await engine.generate(prompt, params.maxTokens, params);
  progress.advance();
  if ((index + 1) % SAMPLED_EVERY !== 0) continue;
  collectGarbage();
  residentMiB.push(process.memoryUsage.rss() / 2 ** 20);
}
progress.stop();
await engine.close();

/** Median of the samples from one share of the run to another. */
const median = (from: number, to: number) =>
  percentile(residentMiB.slice(residentMiB.length * from, residentMiB.length * to), 50);
const rise = median(0.75, 1) / median(0.5, 0.75) - 1;
const percent = (value: number) => `${(value * 100).toFixed(2)}%`;
console.log(`first half  : ${median(0, 0.25).toFixed(1)} → ${median(0.25, 0.5).toFixed(1)} MiB resident`);
console.log(`second half : ${median(0.5, 0.75).toFixed(1)} → ${median(0.75, 1).toFixed(1)} MiB, ${percent(rise)}`);
console.log(`flat        : ${rise < LIMIT ? `yes, below ${percent(LIMIT)}` : 'NO'} (${generations} generations)`);
if (rise >= LIMIT) process.exitCode = 1;
