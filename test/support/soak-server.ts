/**
 * A server in a process of its own, forked with an IPC channel: `soak-server.ts OPTIONS`, as JSON. Tells its parent
 * where it listens, how it fares whenever it is asked, and what it has left behind; SIGTERM ends it as it ends
 * `rxllm serve`.
 */
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { fromEvent } from 'rxjs';
import { runServer } from '../../src/cli/run-server.ts';
import type { EngineOptions, EngineStats, KvAllocator, StagedRecipe } from '../../src/core/contracts/index.ts';
import { pagedBlocks } from '../../src/core/memory/paged-blocks.ts';
import { ortCApi } from '../../src/core/runtime/ort-c-api.ts';
import { createEngine } from '../../src/engines/create-engine.ts';
import { findStages } from '../../src/engines/registry.ts';
import { swap } from '../../src/engines/swap.ts';
import { heldOf } from './memory.ts';
import { embeddedModel } from './real-server.ts';

export interface SoakServerOptions {
  readonly engine: string;
  readonly options: Partial<EngineOptions>;
  /** Of a paged cache; default: what memory allows. */
  readonly blocks?: number;
  readonly graceMs: number;
}

export interface SoakReport {
  /** Since the report before, in milliseconds. */
  readonly delay: { readonly p50: number; readonly p99: number; readonly max: number };
  /** Bytes, a sample a second, since the report before. */
  readonly resident: readonly number[];
  /**
   * The same without V8's garbage and the room it keeps for more, which comes and goes with each full collection: what
   * lives on after the last one, and all memory that is not V8's heap. A leak raises it.
   */
  readonly held: readonly number[];
  readonly stats: EngineStats | undefined;
}

const { engine: name, options, blocks, graceMs } = JSON.parse(process.argv[2]!) as SoakServerOptions;
const delay = monitorEventLoopDelay({ resolution: 1 });
let resident: number[] = [];
let held: number[] = [];
let alive: number | undefined;
let stats: EngineStats | undefined;
let kv: KvAllocator | undefined;

async function start() {
  const recipe = findStages(name);
  const cache: StagedRecipe['kv'] = (...args) => {
    kv = (blocks === undefined ? recipe.kv : pagedBlocks({ blocks, blockSize: 16 }))(...args);
    return kv;
  };
  const engine = await createEngine(swap(recipe, { name, kv: cache }), await embeddedModel(), options);
  engine.stats$.subscribe((latest) => {
    stats = latest;
  });
  return engine;
}

function report(): SoakReport {
  if (stats?.running === 0) kv?.checkInvariants();
  const ms = (percent: number) => delay.percentile(percent) / 1e6;
  const now = { delay: { p50: ms(50), p99: ms(99), max: delay.max / 1e6 }, resident, held, stats };
  resident = [];
  held = [];
  delay.reset();
  return now;
}

const collections = new PerformanceObserver((list) => {
  const isFull = (entry: object) =>
    (entry as { detail: { kind: number } }).detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
  if (list.getEntries().some(isFull)) alive = process.memoryUsage().heapUsed;
});
collections.observe({ entryTypes: ['gc'] });
setInterval(() => {
  const usage = process.memoryUsage();
  resident.push(usage.rss);
  held.push(heldOf(usage, alive));
}, 1000).unref();
delay.enable();
process.on('message', () => process.send?.(report()));
process.channel?.unref();
await runServer({
  start,
  engine: name,
  host: '127.0.0.1',
  port: 0,
  graceMs,
  stop$: fromEvent(process, 'SIGTERM'),
  print: (line) => {
    const address = /curl -N (http:\/\/[\d.:]+)/.exec(line)?.[1];
    if (address === undefined) return;
    // What the start took is not the load's.
    report();
    process.send?.({ address });
  },
  warn: console.error,
  exit: process.exit,
});
// What ONNX Runtime still has of ours.
process.send?.({ left: ortCApi().live });
