import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ort from 'onnxruntime-node';
import { firstValueFrom } from 'rxjs';
import { afterAll, describe, expect, it } from 'vitest';
import { argmax, batchOf, logitsRows } from '../../../test/support/greedy.ts';
import { fixtureDirectory, fixtureGoldens } from '../../../test/support/models.ts';
import { loadConfigAndWeights } from '../model/load-model.ts';
import { dequantize, type QuantizedMatrix } from '../quant/quantized-matrix.ts';
import { roundToNearest } from '../quant/round-to-nearest.ts';
import { BITS, GROUP_SIZES, type QuantScheme, quantScheme, type SchemeOptions } from '../quant/scheme.ts';
import { writeCheckpoint } from '../quant/write-checkpoint.ts';
import { native } from '../runtime/native-runner.ts';
import { OnnxBuilder } from './onnx-builder.ts';
import { type QuantizedOptions, quantized } from './quantized.ts';
import type { QuantKernel } from './quantized-linear.ts';
import { quantizedWeights } from './quantized-weights.ts';

const folders: string[] = [];
afterAll(() => {
  for (const path of folders) rmSync(path, { recursive: true });
});

const wave = (length: number) => Float32Array.from({ length }, (_, i) => Math.sin(i * 12.9898) * (1 + (i % 7)));

/** x `[tokens, columns]` times the matrix, by the kernel. */
async function multiplier(
  kernel: QuantKernel,
  matrix: QuantizedMatrix,
): Promise<(x: Float32Array) => Promise<Float32Array>> {
  const g = new OnnxBuilder();
  const weights = quantizedWeights(g, kernel, () => matrix);
  weights.linear(g.input('x', 'float32', ['tokens', matrix.columns]), ['module'], 'y');
  g.output('y', 'float32', ['tokens', matrix.rows]);
  const session = await ort.InferenceSession.create(g.build('linear'), { intraOpNumThreads: 1 });
  return async (x) => {
    const { y } = await session.run({ x: new ort.Tensor('float32', x, [x.length / matrix.columns, matrix.columns]) });
    return y!.data as Float32Array;
  };
}

function identity(size: number): Float32Array {
  return Float32Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 1 : 0));
}

const ROWS = 6;
// Not a multiple of the larger groups: the last one is short.
const COLUMNS = 176;
const schemes = BITS.flatMap((bits) =>
  ([...GROUP_SIZES, 'channel'] as const).flatMap((groupSize) =>
    [true, false].map((symmetric): QuantScheme => ({ bits, groupSize, symmetric })),
  ),
);

/** Unit vectors pick out columns, and 1 is a whole number of steps: what comes back are the weights that are stored. */
async function expectWeights(kernel: QuantKernel, matrix: QuantizedMatrix): Promise<void> {
  const y = await (await multiplier(kernel, matrix))(identity(COLUMNS));
  const expected = dequantize(matrix);
  for (let column = 0; column < COLUMNS; column++) {
    for (let row = 0; row < ROWS; row++) {
      expect(y[column * ROWS + row]).toBeCloseTo(expected[row * COLUMNS + column]!, 4);
    }
  }
}

describe('the kernels multiply by the weights that are stored', () => {
  it.each(schemes)('blocks: %o', async (scheme) => {
    await expectWeights('blocks', roundToNearest(wave(ROWS * COLUMNS), ROWS, COLUMNS, scheme));
  });

  it('blocks, columns in another order', async () => {
    const matrix = roundToNearest(wave(ROWS * COLUMNS), ROWS, COLUMNS, quantScheme({ bits: 4, groupSize: 32 }));
    const order = Int32Array.from({ length: COLUMNS }, (_, i) => (i * 31) % COLUMNS);
    await expectWeights('blocks', { ...matrix, order });
  });

  it.each(['row-int8', 'float'] as const)('%s', async (kernel) => {
    const scheme = quantScheme({ bits: 8, groupSize: 'channel' });
    await expectWeights(kernel, roundToNearest(wave(ROWS * COLUMNS), ROWS, COLUMNS, scheme));
  });

  const kernels = [
    ...schemes.map((scheme) => ({ kernel: 'blocks', ...scheme }) as const),
    { kernel: 'row-int8', ...quantScheme({ bits: 8, groupSize: 'channel' }) } as const,
  ];
  it.each(kernels)('a row alone and among others is the same, bit for bit: %o', async ({ kernel, ...scheme }) => {
    const [rows, columns] = [40, 384];
    const multiply = await multiplier(kernel, roundToNearest(wave(rows * columns), rows, columns, scheme));
    const x = wave(130 * columns).map((value, i) => value * (1 + Math.floor(i / columns)));
    const alone: Float32Array[] = [];
    for (let at = 0; at < x.length; at += columns) alone.push(await multiply(x.slice(at, at + columns)));
    for (const count of [2, 5, 8, 17, 32, 33, 130]) {
      const together = await multiply(x.slice(0, count * columns));
      for (let row = 0; row < count; row++) {
        const found = together.slice(row * rows, (row + 1) * rows);
        expect(Buffer.compare(Buffer.from(found.buffer), Buffer.from(alone[row]!.buffer)), `${row} of ${count}`).toBe(
          0,
        );
      }
    }
  });
});

describe('quantized', async () => {
  const fixture = 'llama-untied-bias-headdim';
  const model = await loadConfigAndWeights(fixtureDirectory(fixture));
  const parts = ['linear', 'head', 'embeddings'] as const;

  it.each<QuantizedOptions>([
    { bits: 8, groupSize: 32 },
    { bits: 8, groupSize: 16, symmetric: false },
    { bits: 8, groupSize: 'channel', kernel: 'row-int8' },
    { bits: 8, groupSize: 'channel', kernel: 'float' },
  ])('8 bits everywhere stay near the reference: %o', async (options) => {
    const pool = { layout: 'contiguous', blocks: 2, blockSize: 64 } as const;
    const runner = await native({ threads: 1 })(quantized({ ...options, parts })(model, pool.layout), model, pool);
    const { input_ids: ids, argmax: expected, last_logits: last } = fixtureGoldens(fixture).at(-1)!;
    const batch = { ...batchOf([{ blocks: [0], start: 0, ids }]), logitsAt: ids.map((_, i) => i) };
    const logits = logitsRows(await firstValueFrom(runner.forward(batch)));
    await runner.dispose();
    const agree = logits.filter((row, i) => argmax(row) === expected[i]).length / ids.length;
    expect(agree).toBeGreaterThan(0.85);
    const error = Math.max(...last.map((value, i) => Math.abs(value - logits.at(-1)![i]!)));
    expect(error / Math.max(...last.map(Math.abs))).toBeLessThan(0.1);
  });

  it('refuses kernels and schemes that do not go together', () => {
    expect(() => quantized({ bits: 4, groupSize: 32, kernel: 'row-int8' })).toThrow(
      'kernel row-int8 takes bits 8, groupSize channel, symmetric; got bits 4, groupSize 32, symmetric',
    );
  });

  it.each<[SchemeOptions, string]>([
    [{ bits: 4, groupSize: 'channel' }, '4 bits, 1 scale a row'],
    [{ bits: 8, groupSize: 16 }, '8 bits, 2 scales a row'],
    [{ bits: 8, groupSize: 'channel', symmetric: false }, '8 bits, 1 scale a row, asymmetric'],
  ])('row-int8 refuses a matrix that it does not take: %o', (options, found) => {
    const matrix = roundToNearest(wave(4 * 32), 4, 32, quantScheme(options));
    const g = new OnnxBuilder();
    expect(() => quantizedWeights(g, 'row-int8', () => matrix).linear('x', ['module'])).toThrow(
      expect.objectContaining({
        code: 'RXLLM_OPTION_INVALID',
        message: expect.stringContaining(`module has ${found}: use kernel blocks`),
      }),
    );
  });

  it('row-int8 refuses a checkpoint that it does not take, before its weights are read', async () => {
    const slot = quantized({ bits: 8, groupSize: 'channel', kernel: 'row-int8' });
    const stored = async (bits: number, groupSize: 16 | 'channel', symmetric: boolean) => {
      const out = mkdtempSync(join(tmpdir(), 'rxllm-row-int8-'));
      folders.push(out);
      await writeCheckpoint(model, out, {
        scheme: quantScheme({ bits, groupSize, symmetric }),
        method: { name: 'rtn' },
      });
      return loadConfigAndWeights(out);
    };
    for (const [bits, groupSize, symmetric, found] of [
      [4, 'channel', true, '4 bits, 1 scale a row: use kernel blocks'],
      [8, 16, true, /8 bits, \d+ scales a row: use kernel blocks/],
      [8, 'channel', false, '8 bits, 1 scale a row, asymmetric: use kernel blocks'],
    ] as const) {
      const checkpoint = await stored(bits, groupSize, symmetric);
      expect(() => slot(checkpoint, 'contiguous')).toThrow(found);
    }
    const fits = await stored(8, 'channel', true);
    expect((await slot(fits, 'contiguous').author('returned')).length).toBeGreaterThan(0);
  });
});
