/**
 * Whether memory stays flat: 1,000 generations on one engine (or as many as the first argument says), prompts of 8 to
 * 256 tokens, resident memory after every tenth and a garbage collection. Flat means that it rises by less than 2% over
 * the last half, from the median of its first part to that of its second. Exits 1 where it does not.
 */
import { createProgress } from '../src/bench/progress.ts';
import { median } from '../src/bench/stats.ts';
import { syntheticWorkload } from '../src/bench/workload.ts';
import { EMBEDDED_MODEL } from '../src/cli/options.ts';
import { loadModel } from '../src/core/model/load-model.ts';
import { createRandom } from '../src/core/sampling/random.ts';
import { createEngine, kvCache } from '../src/engines/index.ts';
import { collectGarbage, riseOverLastHalf } from '../test/support/memory.ts';

const generations = Number(process.argv[2] ?? 1000);
const SAMPLED_EVERY = 10;
const LIMIT = 0.02;

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
  // Garbage that is still to be collected says nothing about a leak.
  collectGarbage();
  residentMiB.push(process.memoryUsage.rss() / 2 ** 20);
}
progress.stop();
await engine.close();

const quarters = [0, 1, 2, 3].map((quarter) => {
  const size = residentMiB.length / 4;
  return median(residentMiB.slice(quarter * size, (quarter + 1) * size)).toFixed(1);
});
const rise = riseOverLastHalf(residentMiB);
const isFlat = rise < LIMIT;
const percent = (value: number) => `${(value * 100).toFixed(2)}%`;
console.log(`first half  : ${quarters[0]} → ${quarters[1]} MiB resident`);
console.log(`second half : ${quarters[2]} → ${quarters[3]} MiB, ${percent(rise)}`);
console.log(`flat        : ${isFlat ? `yes, below ${percent(LIMIT)}` : 'NO'} (${generations} generations)`);
if (!isFlat) process.exitCode = 1;
