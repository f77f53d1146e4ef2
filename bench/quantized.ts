/**
 * Quantized weights against float32, on SmolLM2-135M's shape (or MODEL_DIR), in turn: `npx tsx bench/quantized.ts [MODEL_DIR]`.
 * Decode is of one row behind 128 tokens, prefill of 512 tokens at once.
 */
import { firstValueFrom } from 'rxjs';
import { median, quartiles } from '../src/bench/stats.ts';
import type { KvPool } from '../src/core/contracts/index.ts';
import { llama } from '../src/core/graph/llama-graph.ts';
import { quantized } from '../src/core/graph/quantized.ts';
import { loadConfigAndWeights } from '../src/core/model/load-model.ts';
import { native } from '../src/core/runtime/native-runner.ts';
import { randomSmolLm } from './support/random-model.ts';
import { describeMachine, printTable } from './support/report.ts';

const CONTEXT = 128;
const PROMPT = 512;
const PAIRS = 9;
const DECODE_STEPS = 30;

const directory = process.argv[2] ?? (await randomSmolLm());
const model = await loadConfigAndWeights(directory);
const pool: KvPool = { layout: 'contiguous', blocks: 1, blockSize: PROMPT + CONTEXT };
const ids = Array.from({ length: PROMPT }, (_, i) => (i * 37 + 50) % model.config.vocab);

async function start(name: string, slot: ReturnType<typeof llama>) {
  const begin = performance.now();
  const runner = await native()(slot(model, pool.layout), model, pool);
  const run = (tokens: readonly number[], position: number) =>
    firstValueFrom(
      runner.forward({
        rows: 1,
        width: tokens.length,
        ids: [tokens],
        positions: [position],
        blockTables: [[0]],
        logitsAt: [tokens.length - 1],
      }),
    );
  const loadMs = performance.now() - begin;
  const time = async (work: () => Promise<unknown>) => {
    const from = performance.now();
    await work();
    return performance.now() - from;
  };
  const decode = async () => {
    const times: number[] = [];
    for (let i = 0; i < DECODE_STEPS; i++) times.push(await time(() => run([100], CONTEXT)));
    return median(times);
  };
  await run(ids.slice(0, CONTEXT), 0);
  return { name, runner, loadMs, decode, prefill: () => time(() => run(ids, 0)) };
}

const floats = await start('float32', llama());
const rows: (readonly (string | number)[])[] = [['float32', floats.loadMs.toFixed(0)]];
for (const [name, slot] of [
  ['int4, groups of 32', quantized({ bits: 4, groupSize: 32 })],
  ['int8, groups of 32', quantized({ bits: 8, groupSize: 32 })],
  ['int8 a row', quantized({ bits: 8, groupSize: 'channel', kernel: 'row-int8' })],
] as const) {
  const other = await start(name, slot);
  const ratios = async (what: 'decode' | 'prefill') => {
    const pairs: [number, number][] = [];
    await floats[what]();
    await other[what]();
    for (let pair = 0; pair < PAIRS; pair++) pairs.push([await floats[what](), await other[what]()]);
    const over = pairs.map(([a, b]) => a / b);
    const ms = `${Math.min(...pairs.map(([a]) => a)).toFixed(2)} → ${Math.min(...pairs.map(([, b]) => b)).toFixed(2)}`;
    return `${ms}: ×${median(over).toFixed(2)} (${quartiles(over, 2)})`;
  };
  rows.push([name, other.loadMs.toFixed(0), await ratios('decode'), await ratios('prefill')]);
  await other.runner.dispose();
}
describeMachine(floats.runner, directory);
const head = ['weights', 'load ms', `decode at ${CONTEXT}, best ms`, `prefill of ${PROMPT}, best ms`];
printTable(
  head,
  rows.map((row) => [...row, ...Array(head.length - row.length).fill('')]),
);
await floats.runner.dispose();
