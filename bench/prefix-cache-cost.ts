/**
 * What a prefix cache costs that never hits: `npx tsx bench/prefix-cache-cost.ts [--pairs 15]` runs the same requests through
 * `paged-attention` and `prefix-caching`, in turns, every request under a salt of its own. Then the allocators alone.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { forkJoin, lastValueFrom } from 'rxjs';
import { median, quartiles } from '../src/bench/stats.ts';
import type { Engine, EngineOptions, KvAllocator, KvSlot, Sequence } from '../src/core/contracts/index.ts';
import { pagedBlocks } from '../src/core/memory/paged-blocks.ts';
import { prefixCached } from '../src/core/memory/prefix-cached.ts';
import { loadModel } from '../src/core/model/load-model.ts';
import { createEngine, paged, prefixCaching } from '../src/engines/index.ts';
import { printTable } from './support/report.ts';

const { values } = parseArgs({ options: { pairs: { type: 'string', default: '15' } } });
const pairs = Number(values.pairs);
const REQUESTS = 16;
const { requests } = JSON.parse(readFileSync(new URL('./workloads/uniform-8-128.json', import.meta.url), 'utf8')) as {
  readonly requests: readonly { readonly prompt: string; readonly max_tokens: number }[];
};

const model = await loadModel('models/storyteller-12m');
const options = { kvCacheMemoryMiB: 64, maxQueue: 1000 };
let salt = 0;

/** Output tokens a second. */
async function throughput(engine: Engine): Promise<number> {
  const chosen = requests.slice(0, REQUESTS);
  const start = performance.now();
  const streams = chosen.map(({ prompt, max_tokens: maxTokens }) =>
    engine.stream({ prompt, params: { maxTokens, ignoreEos: true }, cacheSalt: `${salt++}` }),
  );
  await lastValueFrom(forkJoin(streams));
  const tokens = chosen.reduce((sum, { max_tokens }) => sum + max_tokens, 0);
  return (1000 * tokens) / (performance.now() - start);
}

const without = await createEngine(paged, model, options);
const withCache = await createEngine(prefixCaching, model, options);
for (const engine of [without, withCache]) await throughput(engine);
const measured: (readonly [number, number])[] = [];
for (let i = 0; i < pairs; i++) {
  // Whoever goes first in one pair goes second in the next.
  const order = i % 2 === 0 ? [without, withCache] : [withCache, without];
  const [first, second] = [await throughput(order[0]!), await throughput(order[1]!)];
  measured.push(i % 2 === 0 ? [first, second] : [second, first]);
}
const ratios = measured.map(([plain, cached]) => cached / plain);
const figures = [median(measured.map(([plain]) => plain)), median(measured.map(([, cached]) => cached))];
printTable(
  ['paged, tokens/s', 'prefix cached', 'ratio', 'quartiles'],
  [[...figures.map((value) => value.toFixed(0)), median(ratios).toFixed(3), quartiles(ratios, 3)]],
);
await Promise.all([without.close(), withCache.close()]);

/** Microseconds that an allocator takes for a step of 8 decoding rows, admission and end of the sequences included. */
function allocatorMicros(slot: KvSlot): number {
  const kv: KvAllocator = slot(model, { maxModelLen: 2048, blockSize: 16, ...options } as EngineOptions);
  const [rounds, steps] = [100, 128];
  const start = performance.now();
  for (let round = 0; round < rounds; round++) {
    const sequences = Array.from({ length: 8 }, (_, row) => {
      const tokens = Array.from({ length: 64 }, (_, i) => (i * 7 + row * 31 + round * 101) % 8192);
      return { id: `${row}`, tokens, promptLength: 64, computed: 0, cached: 0, blocks: [], request: {} };
    }) as unknown as Sequence[];
    for (let step = 0; step < steps; step++) {
      for (const sequence of sequences) {
        const newTokens = step === 0 ? 64 - kv.cachedTokens(sequence) : 1;
        kv.reserve(sequence, newTokens);
        sequence.computed += newTokens;
        sequence.tokens.push((step * 13 + round) % 8192);
        kv.publish(sequence);
      }
    }
    for (const sequence of sequences) kv.free(sequence);
  }
  return ((performance.now() - start) * 1000) / (rounds * steps);
}
const blocks = 1024;
for (const slot of [pagedBlocks({ blocks }), prefixCached({ blocks })]) allocatorMicros(slot);
const micros = [pagedBlocks({ blocks }), prefixCached({ blocks })].map(allocatorMicros);
printTable(['paged, µs a step', 'prefix cached, µs a step'], [micros.map((value) => value.toFixed(2))]);
