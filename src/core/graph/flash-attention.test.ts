import ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import type { ModelConfig } from '../contracts/index.ts';
import { createRandom } from '../sampling/random.ts';
import type { AttentionKernel } from './attention.ts';
import { flashAttention, KEY_TILE, QUERY_TILE } from './flash-attention.ts';
import { scoreMatrix } from './grouped-attention.ts';
import { type Edge, OnnxBuilder } from './onnx-builder.ts';
import { attention, causalMask } from './primitive/attention.ts';
import type { Rotary } from './rotary.ts';

interface Heads {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/** One layer's attention by itself: q `[tokens, heads, 1, headDim]`, k and v `[rows, kvHeads, keys, headDim]`. */
function kernelSession(kernel: AttentionKernel, shape: Heads) {
  return session(shape, (g, q, k, v, positions) => {
    const keys = g.op('Gather', [g.op('Shape', [k]), g.int64(2)]);
    const rope = { positions, rectangle: g.op('Shape', [positions]) } as Rotary;
    return kernel(g, shape as ModelConfig, rope, keys)(q, k, v);
  });
}

/** Chapter 3's, of rows as wide as their keys. */
function primitiveSession(shape: Heads) {
  const { heads, kvHeads, headDim } = shape;
  return session(shape, (g, q, k, v, positions) => {
    const keys = g.op('Gather', [g.op('Shape', [k]), g.int64(2)]);
    const rectangle = g.op('Shape', [positions]);
    const split = g.op('Concat', [rectangle, g.int64([kvHeads, heads / kvHeads, headDim])], { axis: 0 });
    const grouped = g.op('Transpose', [g.op('Reshape', [q, split])], { perm: [0, 2, 3, 1, 4] });
    const alone = (x: Edge) => g.op('Unsqueeze', [x, g.int64([2])]);
    const mixed = attention(g, grouped, alone(k), alone(v), causalMask(g, positions, keys), headDim);
    return g.op('Reshape', [g.op('Transpose', [mixed], { perm: [0, 3, 1, 2, 4] }), g.int64([-1, heads * headDim])]);
  });
}

function session(
  { heads, kvHeads, headDim }: Heads,
  write: (g: OnnxBuilder, q: Edge, k: Edge, v: Edge, positions: Edge) => Edge,
) {
  const g = new OnnxBuilder();
  const q = g.input('q', 'float32', ['tokens', heads, 1, headDim]);
  const [k, v] = ['k', 'v'].map((name) => g.input(name, 'float32', ['rows', kvHeads, 'keys', headDim])) as [Edge, Edge];
  const mixed = write(g, q, k, v, g.input('positions', 'int64', ['rows', 'width']));
  g.output(mixed, 'float32');
  return ort.InferenceSession.create(g.build('attention'), { intraOpNumThreads: 1, logSeverityLevel: 3 });
}

const random = createRandom(8);
const noise = (length: number, scale: number) => Float32Array.from({ length }, () => (random() - 0.5) * scale);

/** Rows of `width` new tokens each, behind so many others; rows whose tokens end earlier are padded at position 0. */
function inputs(shape: Heads, width: number, pasts: readonly number[], lengths: readonly number[], room = 0) {
  const { heads, kvHeads, headDim } = shape;
  const rows = pasts.length;
  const keys = Math.max(...pasts.map((past, row) => past + lengths[row]!)) + room;
  const kv = [rows, kvHeads, keys, headDim];
  const positions = pasts.flatMap((past, row) =>
    Array.from({ length: width }, (_, column) => (column < lengths[row]! ? past + column : 0)),
  );
  return {
    q: new ort.Tensor('float32', noise(rows * width * heads * headDim, 6), [rows * width, heads, 1, headDim]),
    k: new ort.Tensor('float32', noise(rows * kvHeads * keys * headDim, 6), kv),
    v: new ort.Tensor('float32', noise(rows * kvHeads * keys * headDim, 2), kv),
    positions: new ort.Tensor('int64', BigInt64Array.from(positions, BigInt), [rows, width]),
  };
}

async function run(kernel: ort.InferenceSession, feeds: ReturnType<typeof inputs>): Promise<Float32Array> {
  const { [kernel.outputNames[0]!]: mixed } = await kernel.run(feeds);
  return mixed!.data as Float32Array;
}

function largestDifference(a: Float32Array, b: Float32Array): number {
  expect(a).toHaveLength(b.length);
  return a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - b[i]!)), 0);
}

const SHAPES: readonly Heads[] = [
  { heads: 9, kvHeads: 3, headDim: 16 },
  { heads: 2, kvHeads: 2, headDim: 12 },
  { heads: 4, kvHeads: 1, headDim: 8 },
  { heads: 1, kvHeads: 1, headDim: 64 },
];

describe.each(SHAPES)('flash attention, $heads heads on $kvHeads', async (shape) => {
  const [flash, naive, primitive] = await Promise.all([
    kernelSession(flashAttention, shape),
    kernelSession(scoreMatrix, shape),
    primitiveSession(shape),
  ]);
  const tiles = [QUERY_TILE, KEY_TILE, 2 * KEY_TILE].flatMap((tile) => [tile - 1, tile, tile + 1]);

  it.each([1, 2, 3, ...tiles, 700])('a prompt of %i tokens: as naive, and as the primitive', async (width) => {
    const feeds = inputs(shape, width, [0], [width]);
    const mixed = await run(flash, feeds);
    expect(largestDifference(mixed, await run(naive, feeds))).toBeLessThan(1e-5);
    expect(largestDifference(mixed, await run(primitive, feeds))).toBeLessThan(1e-5);
  });

  it('random widths behind random pasts, with room behind', async () => {
    for (let turn = 0; turn < 12; turn++) {
      const below = (limit: number) => Math.floor(random() * limit);
      const [width, past, room] = [1 + below(200), below(600), below(300)];
      const feeds = inputs(shape, width, [past], [width], room);
      const difference = largestDifference(await run(flash, feeds), await run(naive, feeds));
      expect(difference, `${width} behind ${past}, room for ${room}`).toBeLessThan(1e-5);
    }
  });

  it('rows of unequal length, padded', async () => {
    for (const [pasts, lengths] of [
      [
        [0, 0, 0],
        [130, 7, 1],
      ],
      [
        [500, 3, 256],
        [1, 1, 1],
      ],
      [
        [255, 0, 511, 31],
        [5, 2, 1, 4],
      ],
    ] as const) {
      const feeds = inputs(shape, Math.max(...lengths), pasts, lengths, 40);
      expect(largestDifference(await run(flash, feeds), await run(naive, feeds))).toBeLessThan(1e-5);
    }
  });

  it('scores too large for an exponential', async () => {
    const feeds = inputs(shape, 40, [250], [40]);
    for (const name of ['q', 'k'] as const) {
      const data = feeds[name].data as Float32Array;
      data.set(data.map((x) => 40 * x));
    }
    const mixed = await run(flash, feeds);
    expect(mixed.every(Number.isFinite)).toBe(true);
    expect(largestDifference(mixed, await run(naive, feeds))).toBeLessThan(1e-5);
  });
});
