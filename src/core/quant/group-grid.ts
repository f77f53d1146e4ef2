import { fromHalf, toHalf } from './half.ts';
import { middle, type QuantScheme } from './scheme.ts';

/** The values that a group's codes can stand for: (code − zero) × scale. */
export interface Grid {
  /** A float16, so that what is stored is what was computed with. Negative where the group's largest weight is positive. */
  readonly scale: number;
  readonly zero: number;
}

/**
 * The grid of `values[from … to)`. Symmetric: the weight of largest magnitude falls on code 0, the far end of the range,
 * which has one step more than the near end (llama.cpp's Q4_0). Asymmetric: from the least to the largest value and zero.
 */
export function fitGrid(
  values: Float32Array | Float64Array,
  from: number,
  to: number,
  { bits, symmetric }: Pick<QuantScheme, 'bits' | 'symmetric'>,
): Grid {
  let low = 0;
  let high = 0;
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    if (value < low) low = value;
    else if (value > high) high = value;
  }
  const half = middle(bits);
  const scale = asHalf(symmetric ? (high > -low ? high : low) / -half : (high - low) / (2 ** bits - 1));
  // All zeros, or too small for a float16: every code is the zero.
  if (scale === 0) return { scale: 1, zero: half };
  return { scale, zero: symmetric ? half : Math.min(2 ** bits - 1, Math.round(-low / scale)) };
}

export function encode(value: number, { scale, zero }: Grid, maxCode: number): number {
  const code = Math.round(value / scale) + zero;
  return Math.max(0, Math.min(code, maxCode));
}

const asHalf = (value: number) => fromHalf(toHalf(value));
