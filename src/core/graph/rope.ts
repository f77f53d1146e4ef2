import type { RopeConfig } from '../contracts/index.ts';

export interface RopeTables {
  /** `[maxPositions, headDim / 2]` each. */
  readonly cos: Float32Array;
  readonly sin: Float32Array;
}

/**
 * Cosines and sines of the rotary embedding (RoFormer, 2021), scaled as transformers scales them: dimension pair i of
 * position p turns by p × frequency(i). Computed in float64, stored as float32.
 */
export function ropeTables(rope: RopeConfig, headDim: number, maxPositions: number): RopeTables {
  const frequencies = ropeFrequencies(rope, headDim);
  const scale = rope.type === 'yarn' ? rope.attentionFactor : 1;
  const pairs = frequencies.length;
  const cos = new Float32Array(maxPositions * pairs);
  const sin = new Float32Array(maxPositions * pairs);
  for (let position = 0; position < maxPositions; position++) {
    for (let i = 0; i < pairs; i++) {
      const angle = position * frequencies[i]!;
      cos[position * pairs + i] = Math.cos(angle) * scale;
      sin[position * pairs + i] = Math.sin(angle) * scale;
    }
  }
  return { cos, sin };
}

/** Radians a position, for each of the `headDim / 2` dimension pairs. */
export function ropeFrequencies(rope: RopeConfig, headDim: number): Float64Array {
  const plain = Float64Array.from({ length: headDim / 2 }, (_, i) => rope.theta ** (-(2 * i) / headDim));
  switch (rope.type) {
    case 'default':
      return plain;
    case 'linear':
      return plain.map((frequency) => frequency / rope.factor);
    case 'llama3':
      return plain.map((frequency) => llama3Frequency(frequency, rope));
    case 'yarn': {
      const kept = yarnKept(rope, headDim);
      return plain.map((frequency, i) => (frequency / rope.factor) * (1 - kept[i]!) + frequency * kept[i]!);
    }
  }
}

/** Long waves are stretched by `factor`, short ones kept, and those between are blended (Llama 3.1). */
function llama3Frequency(frequency: number, rope: Extract<RopeConfig, { type: 'llama3' }>): number {
  const { factor, lowFreqFactor, highFreqFactor, originalMaxPositions } = rope;
  const wavesInContext = (originalMaxPositions * frequency) / (2 * Math.PI);
  const kept = (wavesInContext - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
  const blend = Math.min(1, Math.max(0, kept));
  return (1 - blend) * (frequency / factor) + blend * frequency;
}

/** How much of each frequency stays unscaled: a ramp from 1 (short waves) to 0 (YaRN, 2023). */
function yarnKept(rope: Extract<RopeConfig, { type: 'yarn' }>, headDim: number): Float64Array {
  // The pair whose wave turns this many times within the original context.
  const pairTurning = (turns: number) =>
    (headDim * Math.log(rope.originalMaxPositions / (turns * 2 * Math.PI))) / (2 * Math.log(rope.theta));
  const low = Math.max(0, Math.floor(pairTurning(rope.betaFast)));
  const high = Math.min(headDim - 1, Math.ceil(pairTurning(rope.betaSlow)));
  // transformers widens an empty ramp by this much, too.
  const width = high === low ? 0.001 : high - low;
  return Float64Array.from({ length: headDim / 2 }, (_, i) => 1 - Math.min(1, Math.max(0, (i - low) / width)));
}
