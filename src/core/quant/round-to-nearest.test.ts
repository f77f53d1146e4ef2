import { expect, it } from 'vitest';
import { packBlocks, packedBytes } from './pack-blocks.ts';
import { dequantize, groupsOf, stackRows } from './quantized-matrix.ts';
import { roundToNearest } from './round-to-nearest.ts';
import { BITS, GROUP_SIZES, type QuantScheme, quantScheme } from './scheme.ts';

const wave = (length: number) => Float32Array.from({ length }, (_, i) => Math.sin(i * 12.9898) * (1 + (i % 7)));

it('symmetric: the largest weight is the far end of the range, zero is zero', () => {
  const weights = Float32Array.from({ length: 16 }, (_, i) => i - 8);
  const scheme = quantScheme({ bits: 4, groupSize: 16 });
  const { codes, scales, zeros } = roundToNearest(weights, 1, 16, scheme);
  expect({ scales: [...scales], zeros: [...zeros] }).toEqual({ scales: [1], zeros: [8] });
  expect([...codes]).toEqual(Array.from({ length: 16 }, (_, i) => i));
  // The largest is positive: a negative scale puts it on code 0, too.
  const flipped = roundToNearest(
    weights.map((weight) => -weight),
    1,
    16,
    scheme,
  );
  expect({ scales: [...flipped.scales], codes: [...flipped.codes] }).toEqual({ scales: [-1], codes: [...codes] });
});

it('asymmetric: all codes for one-sided weights', () => {
  const weights = Float32Array.from({ length: 16 }, (_, i) => i / 2);
  const matrix = roundToNearest(weights, 1, 16, quantScheme({ bits: 4, groupSize: 16, symmetric: false }));
  expect({ scales: [...matrix.scales], zeros: [...matrix.zeros] }).toEqual({ scales: [0.5], zeros: [0] });
  expect(dequantize(matrix)).toEqual(weights);
});

const schemes = BITS.flatMap((bits) =>
  ([...GROUP_SIZES, 'channel'] as const).flatMap((groupSize) =>
    [true, false].map((symmetric): QuantScheme => ({ bits, groupSize, symmetric })),
  ),
);

it.each(schemes)('no weight moves by more than its step allows: %o', (scheme) => {
  const [rows, columns] = [3, 200];
  const weights = wave(rows * columns);
  const matrix = roundToNearest(weights, rows, columns, scheme);
  const groups = groupsOf(matrix);
  const restored = dequantize(matrix);
  restored.forEach((value, i) => {
    const group = Math.floor(i / columns) * groups + Math.floor((i % columns) / matrix.groupSize);
    const step = Math.abs(matrix.scales[group]!);
    // Half a step; the near end of a symmetric range is cut off by one step more. Rounding the scale adds a little.
    expect(Math.abs(value - weights[i]!)).toBeLessThanOrEqual(step * (scheme.symmetric ? 1.1 : 0.6));
  });
});

it('zeros stay zeros', () => {
  const matrix = roundToNearest(new Float32Array(32), 2, 16, quantScheme({ bits: 4, groupSize: 16 }));
  expect(dequantize(matrix)).toEqual(new Float32Array(32));
});

it('symmetric int4 in groups of 32 takes at most 16% of float32', () => {
  const matrix = roundToNearest(wave(64 * 384), 64, 384, quantScheme({ bits: 4, groupSize: 32 }));
  expect(packedBytes(packBlocks(matrix)) / (4 * 64 * 384)).toBe(0.15625);
});

it('stacks rows', () => {
  const scheme = quantScheme({ bits: 4, groupSize: 16, symmetric: false });
  const weights = wave(5 * 40);
  const parts = [weights.slice(0, 80), weights.slice(80)].map((part) =>
    roundToNearest(part, part.length / 40, 40, scheme),
  );
  expect(stackRows(parts)).toEqual(roundToNearest(weights, 5, 40, scheme));
});

it.each([
  [{ bits: 3, groupSize: 32 }, 'bits 3 is not supported; supported: 4, 8'],
  [{ bits: 4, groupSize: 48 }, 'groupSize 48 is not supported; supported: 16, 32, 64, 128, channel'],
])('refuses %o', (options, message) => {
  expect(() => quantScheme(options)).toThrow(expect.objectContaining({ code: 'RXLLM_OPTION_INVALID', message }));
});
