/**
 * Attention by tiles against the whole matrix of scores, on SmolLM2-135M's layers: what a prompt of 2,048 tokens in one
 * chunk (or as many as the first argument says) adds to a process's memory, and how long it takes. The fused operator is
 * there for comparison. Exits 1 where flash needs more than an eighth of naive's memory, or 1.2 times its time.
 */
import { median, quartiles } from '../src/bench/stats.ts';
import { prefillTimes, SMOLLM_LAYERS, startPrefill, withSmolLmLayers } from './support/prefill-bench.ts';
import { prefillMemory } from './support/prefill-memory.ts';
import { describeMachine, printTable } from './support/report.ts';

const tokens = Number(process.argv[2] ?? 2048);
const ROUNDS = 7;
const MOST_MEMORY = 1 / 8;
const MOST_TIME = 1.2;
const ATTENTIONS = ['naive', 'flash', 'fused'] as const;

await withSmolLmLayers(async (directory) => {
  const { runner } = await startPrefill(directory, 'flash', 16);
  describeMachine(runner, directory);
  await runner.dispose();
  console.log(`a prompt of ${tokens} tokens in one chunk; ${SMOLLM_LAYERS.layers} layers of SmolLM2-135M's shape\n`);

  const times = await prefillTimes(directory, ATTENTIONS, { tokens, rounds: ROUNDS });
  const alive = new Map<string, number>();
  const rows = [];
  for (const attention of ATTENTIONS) {
    const settings = { directory, attention, tokens };
    alive.set(attention, await prefillMemory({ ...settings, arena: false }));
    const held = await prefillMemory({ ...settings, arena: true });
    rows.push([attention, alive.get(attention)!.toFixed(1), held.toFixed(1), median(times[attention]).toFixed(0)]);
  }
  printTable(['attention', 'alive at once, MiB', 'held by the arena, MiB', 'prefill, ms'], rows);

  const memory = alive.get('flash')! / alive.get('naive')!;
  const ratios = times.flash.map((ms, round) => ms / times.naive[round]!);
  console.log(`\nmemory : flash / naive = 1/${(1 / memory).toFixed(1)} (at most 1/${1 / MOST_MEMORY})`);
  console.log(`time   : flash / naive = ${median(ratios).toFixed(2)} (${quartiles(ratios, 2)}; at most ${MOST_TIME})`);
  if (memory > MOST_MEMORY || median(ratios) > MOST_TIME) process.exitCode = 1;
});
