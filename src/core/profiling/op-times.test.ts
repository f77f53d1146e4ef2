import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { forward } from '../../../test/support/greedy.ts';
import { modelDirectory } from '../../../test/support/models.ts';
import { llama } from '../graph/llama-graph.ts';
import { loadConfigAndWeights } from '../model/load-model.ts';
import { native } from '../runtime/native-runner.ts';
import { opProfile } from './op-profile.ts';
import { opTimes, type ProfileEvent } from './op-times.ts';

const kernel = (node: string, op: string, dur: number): ProfileEvent => ({
  cat: 'Node',
  name: `${node}_kernel_time`,
  dur,
  args: { op_name: op },
});
const session = (name: string, dur: number): ProfileEvent => ({ cat: 'Session', name, dur });

const EVENTS = [
  session('session_initialization', 9000),
  kernel('Gemm_0', 'Gemm', 100),
  session('model_run', 150),
  kernel('Gemm_0', 'Gemm', 1000),
  kernel('Mul_1', 'Mul', 250),
  kernel('Gemm_2', 'Gemm', 500),
  session('SequentialExecutor::Execute', 1900),
  session('model_run', 2000),
  kernel('Mul_1', 'Mul', 10),
  session('model_run', 20),
  kernel('Mul_1', 'Mul', 30),
  session('model_run', 40),
];

it('sums by op type for each group of runs, the longest first', () => {
  const times = opTimes(EVENTS, [undefined, 'prefill', 'decode', 'decode']);
  expect([...times]).toEqual([
    [
      'prefill',
      {
        runs: 1,
        totalMs: 2,
        ops: [
          { name: 'Gemm', count: 2, totalMs: 1.5 },
          { name: 'Mul', count: 1, totalMs: 0.25 },
        ],
      },
    ],
    ['decode', { runs: 2, totalMs: 0.06, ops: [{ name: 'Mul', count: 2, totalMs: 0.04 }] }],
  ]);
});

it('sums by node on demand', () => {
  const { ops } = opTimes(EVENTS, [undefined, 'prefill'], { by: 'node' }).get('prefill')!;
  expect(ops.map(({ name }) => name)).toEqual(['Gemm_0', 'Gemm_2', 'Mul_1']);
});

it('reads the profile of a native runner, run by run', async () => {
  const model = await loadConfigAndWeights(modelDirectory('storyteller-draft'));
  const { profiling, group, times } = opProfile();
  const pool = { layout: 'contiguous', blocks: 1, blockSize: 64 } as const;
  const runner = await native({ threads: 1, profiling })(llama()(model, 'contiguous'), model, pool);
  const run = (start: number, ids: readonly number[]) => forward(runner, [{ blocks: [0], start, ids }]);
  await run(0, [50, 51, 52]);
  group('prefill');
  await run(0, [50, 51, 52, 53]);
  group('decode');
  for (const position of [4, 5, 6]) await run(position, [60]);
  await runner.dispose();

  const { layers } = model.config;
  const [prefill, decode] = ['prefill', 'decode'].map((name) => times().get(name)!);
  expect([prefill!.runs, decode!.runs]).toEqual([1, 3]);
  const of = (name: string) => decode!.ops.find((op) => op.name === name);
  // q, k and v at once, o, gate, up and down in each layer, and the head.
  expect(of('Gemm')!.count).toBe(3 * (5 * layers + 1));
  expect(of('GroupQueryAttention')!.count).toBe(3 * layers);
  const ops = decode!.ops.reduce((sum, { totalMs }) => sum + totalMs, 0);
  expect(ops).toBeGreaterThan(0);
  expect(ops).toBeLessThanOrEqual(decode!.totalMs);
  expect(
    times('node')
      .get('decode')!
      .ops.filter(({ name }) => name.startsWith('Gemm_')).length,
  ).toBe(5 * layers + 1);
  expect(existsSync(dirname(profiling.prefix))).toBe(false);
});
