import { describe, expect, it } from 'vitest';
import { gptq, gptqInputs } from './gptq.ts';
import { encode, fitGrid, type Grid } from './group-grid.ts';
import { dequantize, type QuantizedMatrix } from './quantized-matrix.ts';
import { roundToNearest } from './round-to-nearest.ts';
import { type QuantScheme, quantScheme } from './scheme.ts';

/** A repeatable stream of numbers from -1 to 1. */
function randomly(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

/** Inputs that depend on each other, as activations do: x xᵀ summed over them. */
function correlatedGram(columns: number, samples: number, seed: number): Float64Array {
  const random = randomly(seed);
  const gram = new Float64Array(columns * columns);
  for (let sample = 0; sample < samples; sample++) {
    const shared = random() * 2;
    const x = Array.from({ length: columns }, (_, i) => (random() + shared) * (1 + (i % 5)));
    for (let i = 0; i < columns; i++) for (let j = 0; j < columns; j++) gram[i * columns + j]! += x[i]! * x[j]!;
  }
  return gram;
}

/** By Gauss and Jordan. */
function inverse(matrix: readonly (readonly number[])[]): number[][] {
  const n = matrix.length;
  const a = matrix.map((row, i) => [...row, ...Array.from({ length: n }, (_, j) => (i === j ? 1 : 0))]);
  for (let column = 0; column < n; column++) {
    const pivot = a.findIndex(
      (row, i) =>
        i >= column && Math.abs(row[column]!) === Math.max(...a.slice(column).map((r) => Math.abs(r[column]!))),
    );
    [a[column], a[pivot]] = [a[pivot]!, a[column]!];
    a[column] = a[column]!.map((value) => value / a[column]![column]!);
    for (let i = 0; i < n; i++) {
      const factor = a[i]![column]!;
      if (i !== column) a[i] = a[i]!.map((value, k) => value - factor * a[column]![k]!);
    }
  }
  return a.map((row) => row.slice(n));
}

/**
 * The paper's equations as they stand, one row of weights and one column at a time: the Hessian of the columns that are
 * left is inverted anew for each, and all of them take the update at once.
 */
function bruteForce(
  weights: Float32Array,
  rows: number,
  gram: Float64Array,
  scheme: QuantScheme,
  { damping = 0.01, actOrder = false } = {},
): Uint8Array {
  const columns = weights.length / rows;
  const size = scheme.groupSize === 'channel' ? columns : scheme.groupSize;
  const diagonal = Array.from({ length: columns }, (_, i) => gram[i * columns + i]!);
  const damp = (damping * diagonal.reduce((a, b) => a + b)) / columns;
  const hessian = (i: number, j: number) => gram[i * columns + j]! + (i === j ? damp : 0);
  const order = diagonal.map((_, i) => i);
  if (actOrder) order.sort((a, b) => diagonal[b]! - diagonal[a]!);
  const codes = new Uint8Array(weights.length);
  for (let row = 0; row < rows; row++) {
    const w = Float64Array.from(weights.subarray(row * columns, (row + 1) * columns));
    const grids: Grid[] = [];
    const gridOf = (group: number) => fitGrid(w, group * size, Math.min((group + 1) * size, columns), scheme);
    if (actOrder) for (let group = 0; group * size < columns; group++) grids[group] = gridOf(group);
    order.forEach((q, position) => {
      const group = Math.floor(q / size);
      if (!actOrder && q % size === 0) grids[group] = gridOf(group);
      const grid = grids[group]!;
      const code = encode(w[q]!, grid, 2 ** scheme.bits - 1);
      codes[row * columns + q] = code;
      const left = order.slice(position);
      const inverted = inverse(left.map((i) => left.map((j) => hessian(i, j))));
      const error = w[q]! - (code - grid.zero) * grid.scale;
      left.forEach((i, at) => {
        w[i]! -= (error / inverted[0]![0]!) * inverted[0]![at]!;
      });
    });
  }
  return codes;
}

const weightsOf = (length: number, seed: number) => Float32Array.from({ length }, randomly(seed));

/** ‖x Wᵀ − x Ŵᵀ‖² over the inputs behind the gram. */
function outputError(weights: Float32Array, matrix: QuantizedMatrix, gram: Float64Array): number {
  const { rows, columns } = matrix;
  const difference = dequantize(matrix).map((value, i) => value - weights[i]!);
  let sum = 0;
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < columns; i++) {
      for (let j = 0; j < columns; j++) {
        sum += difference[row * columns + i]! * gram[i * columns + j]! * difference[row * columns + j]!;
      }
    }
  }
  return sum;
}

describe('GPTQ', () => {
  const [rows, columns] = [4, 40];
  const gram = correlatedGram(columns, 60, 7);
  const weights = weightsOf(rows * columns, 3);

  const schemes = [
    { bits: 4, groupSize: 16 },
    { bits: 4, groupSize: 32, symmetric: false },
    { bits: 4, groupSize: 'channel' },
    { bits: 8, groupSize: 16, symmetric: false },
  ] as const;
  const variants = schemes.flatMap((scheme) =>
    [false, true].flatMap((actOrder) =>
      [8, 16, 128].map((blockSize) => ({ scheme: quantScheme(scheme), actOrder, blockSize })),
    ),
  );

  it.each(variants)('gives the codes of a brute-force float64 reference: %o', ({ scheme, actOrder, blockSize }) => {
    const { codes } = gptq(weights, rows, gptqInputs(gram, columns, { actOrder, blockSize }), scheme);
    expect([...codes]).toEqual([...bruteForce(weights, rows, gram, scheme, { actOrder })]);
  });

  it('leaves less error in the output than rounding', () => {
    const scheme = quantScheme({ bits: 4, groupSize: 32 });
    const rounded = outputError(weights, roundToNearest(weights, rows, columns, scheme), gram);
    for (const actOrder of [false, true]) {
      const fed = gptq(weights, rows, gptqInputs(gram, columns, { actOrder }), scheme);
      expect(outputError(weights, fed, gram)).toBeLessThan(0.6 * rounded);
    }
  });

  it('without correlation between inputs is rounding', () => {
    const identity = Float64Array.from({ length: columns ** 2 }, (_, i) => (i % (columns + 1) === 0 ? 1 : 0));
    const scheme = quantScheme({ bits: 4, groupSize: 16 });
    expect(gptq(weights, rows, gptqInputs(identity, columns), scheme)).toEqual(
      roundToNearest(weights, rows, columns, scheme),
    );
  });

  it('inputs that are always 0 do no harm', () => {
    const dead = gram.map((value, i) => (i % columns === 5 || Math.floor(i / columns) === 5 ? 0 : value));
    const matrix = gptq(weights, rows, gptqInputs(dead, columns), quantScheme({ bits: 4, groupSize: 16 }));
    expect(dequantize(matrix).every(Number.isFinite)).toBe(true);
    for (let row = 0; row < rows; row++) expect(dequantize(matrix)[row * columns + 5]).toBeCloseTo(0, 12);
  });

  it('says so when the Hessian cannot be inverted', () => {
    const one = correlatedGram(columns, 1, 7);
    expect(() => gptqInputs(one, columns, { damping: 0 })).toThrow(
      expect.objectContaining({ code: 'RXLLM_OPTION_INVALID', param: 'damping' }),
    );
  });
});

it.each([0, -3, 1.5, Number.NaN])('refuses blocks of %d columns', (blockSize) => {
  const refused = expect.objectContaining({ code: 'RXLLM_OPTION_INVALID', param: 'blockSize' });
  expect(() => gptqInputs(correlatedGram(16, 40, 1), 16, { blockSize })).toThrow(refused);
});

it('refuses inputs that are not numbers', () => {
  const gram = correlatedGram(16, 40, 1);
  gram[17] = Number.NaN;
  const refused = expect.objectContaining({ code: 'RXLLM_MODEL_FILE_INVALID' });
  expect(() => gptqInputs(gram, 16)).toThrow(refused);
});
