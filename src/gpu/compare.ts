import type { Problem } from './solution.ts';

/**
 * The largest difference from a float64 reference over the largest of its values: 1e-6 is what float32 sums give.
 * NaN where a number is missing, not finite, or too many.
 */
export function relativeError(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (found.length !== expected.length) return Number.NaN;
  let difference = 0;
  let scale = 0;
  for (let i = 0; i < expected.length; i++) {
    if (!Number.isFinite(found[i])) return Number.NaN;
    difference = Math.max(difference, Math.abs(found[i]! - expected[i]!));
    scale = Math.max(scale, Math.abs(expected[i]!));
  }
  return scale === 0 ? difference : difference / scale;
}

/** The largest {@link relativeError} of at most `most` rows, the first and the last among them. */
export function problemError({ rows, columns, expected }: Problem, found: Float32Array, most = rows): number {
  if (found.length !== rows * columns) return Number.NaN;
  const count = Math.min(rows, most);
  const reference = new Float64Array(count * columns);
  const picked = new Float64Array(count * columns);
  for (let i = 0; i < count; i++) {
    const row = count === 1 ? 0 : Math.round((i * (rows - 1)) / (count - 1));
    reference.set(expected(row), i * columns);
    picked.set(found.subarray(row * columns, (row + 1) * columns), i * columns);
  }
  return relativeError(picked, reference);
}
