import { createRandom } from '../core/sampling/random.ts';

/** Uniform in −`scale` to `scale`, the same for the same seed. */
export function randomFloats(length: number, seed: number, scale = 1): Float32Array<ArrayBuffer> {
  const random = createRandom(seed);
  const values = new Float32Array(length);
  for (let i = 0; i < length; i++) values[i] = (2 * random() - 1) * scale;
  return values;
}
