import { rmSync } from 'node:fs';
import { firstValueFrom } from 'rxjs';
import { afterAll, describe, expect, it } from 'vitest';
import { batchOf, logitsRows } from '../../../test/support/greedy.ts';
import { fixtureDirectory, fixtureGoldens } from '../../../test/support/models.ts';
import { type PackedKind, packCheckpoint } from '../../../test/support/packed-checkpoint.ts';
import { llama } from '../graph/llama-graph.ts';
import { quantized } from '../graph/quantized.ts';
import { type ConfigAndWeights, loadConfigAndWeights } from '../model/load-model.ts';
import { native } from '../runtime/native-runner.ts';
import { checkpointMatrix } from './checkpoint-matrix.ts';
import { linearModules } from './quantize-layers.ts';
import { dequantize } from './quantized-matrix.ts';
import { readFloats } from './read-tensor.ts';

const FIXTURE = 'llama-untied-bias-headdim';
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

const KINDS: readonly PackedKind[] = [
  { method: 'gptq', bits: 4, groupSize: 32, zeroOffset: 1, actOrder: false },
  { method: 'gptq', bits: 4, groupSize: 16, zeroOffset: 0, actOrder: false },
  { method: 'gptq', bits: 4, groupSize: 16, zeroOffset: 1, actOrder: true },
  { method: 'gptq', bits: 4, groupSize: 'channel', zeroOffset: 0, actOrder: false },
  { method: 'gptq', bits: 8, groupSize: 32, zeroOffset: 1, actOrder: true },
  { method: 'awq', bits: 4, groupSize: 16, zeroOffset: 0, actOrder: false },
];

async function lastLogits(model: ConfigAndWeights, slot = llama()): Promise<Float32Array> {
  const pool = { layout: 'contiguous', blocks: 2, blockSize: 64 } as const;
  const runner = await native({ threads: 1 })(slot(model, pool.layout), model, pool);
  const { input_ids: ids } = fixtureGoldens(FIXTURE).at(-1)!;
  const [logits] = logitsRows(await firstValueFrom(runner.forward(batchOf([{ blocks: [0], start: 0, ids }]))));
  await runner.dispose();
  return logits!;
}

function largestDifference(a: Float32Array, b: Float32Array): number {
  const scale = Math.max(...b.map(Math.abs));
  return Math.max(...a.map((value, i) => Math.abs(value - b[i]!))) / scale;
}

describe.each(KINDS)('%o', async (kind) => {
  const { packed, plain } = await packCheckpoint(fixtureDirectory(FIXTURE), kind);
  folders.push(packed, plain);
  const checkpoint = await loadConfigAndWeights(packed);
  const floats = await loadConfigAndWeights(plain);

  it('loses nothing: each weight is what the reference says it stands for', () => {
    const { actOrder, ...config } = kind;
    expect(checkpoint.config.quantization).toEqual(config);
    for (const module of linearModules(checkpoint, 0)) {
      const matrix = checkpointMatrix(checkpoint, module)!;
      expect(matrix.order === undefined).toBe(!actOrder);
      expect(dequantize(matrix)).toEqual(readFloats(plain, floats.weights.get(`${module}.weight`)!));
    }
  });

  it('runs: in floats as the floats do, by integer products near them', async () => {
    const expected = await lastLogits(floats);
    const asFloats = quantized({ bits: 4, groupSize: 32, kernel: 'float', parts: [] });
    expect(largestDifference(await lastLogits(checkpoint, asFloats), expected)).toBeLessThan(1e-5);
    expect(largestDifference(await lastLogits(checkpoint), expected)).toBeLessThan(0.1);
  });
});
