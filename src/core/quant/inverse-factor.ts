import { RxllmError } from '../errors.ts';

/**
 * The upper triangular U with H⁻¹ = Uᵀ U, the Cholesky factor of the inverse, without the inverse: H = R Rᵀ is factored from
 * the last row up, and U is R⁻¹. `h [n, n]`, symmetric and positive definite, is overwritten. n³ / 3 multiplications.
 * @throws RxllmError `RXLLM_OPTION_INVALID` where it is not positive definite
 */
export function inverseFactor(h: Float64Array, n: number): Float64Array {
  factor(h, n);
  return invert(h, n);
}

/** R, in the upper triangle of `h`. */
function factor(h: Float64Array, n: number): void {
  for (let j = n - 1; j >= 0; j--) {
    const square = h[j * n + j]! - dot(h, j * n, j * n, j + 1, n);
    if (!(square > 0)) {
      const message = 'damping is too small for this calibration text: its Hessian is not positive definite; raise it';
      throw new RxllmError('RXLLM_OPTION_INVALID', message, { param: 'damping' });
    }
    const diagonal = Math.sqrt(square);
    h[j * n + j] = diagonal;
    for (let i = 0; i < j; i++) h[i * n + j] = (h[i * n + j]! - dot(h, i * n, j * n, j + 1, n)) / diagonal;
  }
}

/** Σ a[k] b[k] for rows of `h` that start at `a` and `b`, k from `from` to `to`. Four sums, so that additions overlap. */
function dot(h: Float64Array, a: number, b: number, from: number, to: number): number {
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  let k = from;
  for (; k + 3 < to; k += 4) {
    s0 += h[a + k]! * h[b + k]!;
    s1 += h[a + k + 1]! * h[b + k + 1]!;
    s2 += h[a + k + 2]! * h[b + k + 2]!;
    s3 += h[a + k + 3]! * h[b + k + 3]!;
  }
  for (; k < to; k++) s0 += h[a + k]! * h[b + k]!;
  return s0 + s1 + s2 + s3;
}

/** The inverse of the upper triangle of `r`: each row solves u R = e by substitution. */
function invert(r: Float64Array, n: number): Float64Array {
  const u = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    const row = i * n;
    u[row + i] = 1;
    for (let k = i; k < n; k++) {
      const value = u[row + k]! / r[k * n + k]!;
      u[row + k] = value;
      if (value === 0) continue;
      for (let j = k + 1; j < n; j++) u[row + j]! -= value * r[k * n + j]!;
    }
  }
  return u;
}
