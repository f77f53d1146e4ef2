const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** The bits of the float16 nearest to `value`, ties to even; what is too large becomes infinity. */
export function toHalf(value: number): number {
  float[0] = value;
  const sign = (bits[0]! >>> 16) & 0x8000;
  const magnitude = Math.abs(float[0]);
  if (Number.isNaN(magnitude)) return sign | 0x7e00;
  // Below the smallest normal number, halves are evenly spaced by 2⁻²⁴; past it, a float32 loses 13 bits of its fraction.
  if (magnitude < 2 ** -14) return sign | roundToEven(magnitude * 2 ** 24);
  const rounded = bits[0]! + 0xfff + ((bits[0]! >>> 13) & 1);
  const half = ((rounded & 0x7fffffff) >>> 13) - (112 << 10);
  return sign | Math.min(half, 0x7c00);
}

export function fromHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 31;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

function roundToEven(value: number): number {
  const down = Math.floor(value);
  const rest = value - down;
  return rest > 0.5 || (rest === 0.5 && down % 2 === 1) ? down + 1 : down;
}
