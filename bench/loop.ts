/**
 * Own cost of the loop: one step of a whole engine with 8 decoding rows over a runner that computes nothing, sampling
 * left out; planning, RxJS, detokenizing, settling and delivery to 8 readers are in it.
 */
import { map, of, Subject, take } from 'rxjs';
import { Bench } from 'tinybench';
import type { KvAllocator, Sampled, Slot, StagedRecipe } from '../src/core/contracts/index.ts';
import { nextRow, type Policy } from '../src/core/scheduling/policy.ts';
import { createEngine } from '../src/engines/create-engine.ts';
import { kvCache } from '../src/engines/kv-cache.ts';
import { observe, swap } from '../src/engines/swap.ts';
import { profile } from '../src/operators/profile.ts';
import { schedule } from '../src/operators/schedule.ts';
import { toyConfig, toyModel } from '../test/support/toy-model.ts';

const ROWS = 8;
const config = { ...toyConfig, maxPositions: Number.MAX_SAFE_INTEGER };

const everyone: Policy = (state) => {
  const rows = [...state.running, ...state.waiting].map((sequence) => nextRow(sequence, state, 512));
  return { admitted: [...state.waiting], rows };
};

const endlessMemory: KvAllocator = {
  pool: { layout: 'contiguous', blocks: ROWS, blockSize: config.maxPositions },
  total: ROWS,
  used: 0,
  maxSequenceTokens: config.maxPositions,
  reserve: ({ blocks }) => ({ blocks }),
  truncate: () => {},
  free: () => {},
  prefixCache: { queries: 0, hits: 0 },
  cachedTokens: () => 0,
  publish: () => {},
  snapshot: () => ({ tables: new Map(), cached: [] }),
  checkInvariants: () => {},
};

const sameToken: Slot<import('../src/core/contracts/index.ts').Computed, Sampled> = () =>
  map((step) => ({
    ...step,
    produced: new Map(step.rows.map(({ sequence }) => [sequence.id, [3]])),
    logprobs: new Map(),
    failed: new Map(),
    late: new Set(),
  }));

const logits = { rows: ROWS, vocab: config.vocab, data: new Float32Array(ROWS * config.vocab) };

const recipe: StagedRecipe = swap(kvCache, {
  name: 'null',
  model: (_, layout) => ({ layout, weightsDirectory: '', author: () => new Uint8Array() }),
  runtime: async () => ({
    config,
    description: 'null',
    forward: () => of(logits),
    copyBlocks() {},
    dispose: async () => {},
  }),
  kv: () => endlessMemory,
  schedule: schedule(everyone),
  sample: sameToken,
});

/** The engine with its 8 readers and those who watch it, and what makes it take a step. */
async function stepper(of: StagedRecipe, watchers = 0): Promise<() => void> {
  const go$ = new Subject<void>();
  const engine = await createEngine(of, { ...toyModel, config }, { betweenSteps: () => go$.pipe(take(1)) });
  for (let i = 0; i < watchers; i++) engine.watch(100).subscribe();
  let tokens = 0;
  for (let i = 0; i < ROWS; i++) {
    engine.stream({ prompt: 'abc', params: { maxTokens: config.maxPositions } }).subscribe((event) => {
      if (event.type === 'token') tokens += 1;
    });
  }
  return () => {
    const before = tokens;
    go$.next();
    if (tokens !== before + ROWS) throw new Error(`a step gave ${tokens - before} tokens, not ${ROWS}`);
  };
}

const { observer, stages } = profile();
const bare = await stepper(recipe);
const profiled = await stepper(observe(recipe, observer));
const watched = await stepper(recipe, 1);
const bench = new Bench({ time: 2000, warmupTime: 500 });
bench.add('step, 8 rows', bare).add('step, 8 rows, with profile()', profiled).add('step, 8 rows, watched', watched);
await bench.run();
console.table(bench.table());
console.log('own time by stage, µs a step');
for (const { stage, items, selfMs } of stages()) console.log(stage.padEnd(14), ((selfMs * 1000) / items).toFixed(2));
