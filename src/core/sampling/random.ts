/**
 * Uniform numbers in [0, 1), 53 bits each, the same for the same seed: sfc32 (Chris Doty-Humphrey, PractRand).
 * Any safe integer is a seed of its own.
 */
export function createRandom(seed: number): () => number {
  let a = 0;
  let b = seed | 0;
  let c = Math.floor(seed / 2 ** 32) | 0;
  let counter = 1;
  const next = () => {
    const out = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + out;
    c |= 0;
    return out >>> 0;
  };
  // As its author does: enough rounds that seeds that differ in a bit give unrelated numbers.
  for (let round = 0; round < 15; round++) next();
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}
