import { describe, expect, it } from 'vitest';
import { ropeFrequencies, ropeTables } from './rope.ts';

const rounded = (values: Float64Array) => [...values].map((value) => Number(value.toPrecision(6)));

describe('rope', () => {
  it('turns pair i of position p by p × theta^(-2i / headDim)', () => {
    const { cos, sin } = ropeTables({ type: 'default', theta: 10_000 }, 4, 3);
    expect([...cos]).toEqual([1, 1, Math.cos(1), Math.cos(0.01), Math.cos(2), Math.cos(0.02)].map(Math.fround));
    expect([...sin]).toEqual([0, 0, Math.sin(1), Math.sin(0.01), Math.sin(2), Math.sin(0.02)].map(Math.fround));
  });

  it('stretches positions linearly', () => {
    const rope = { type: 'linear', theta: 10_000, factor: 4 } as const;
    expect(rounded(ropeFrequencies(rope, 8))).toEqual([0.25, 0.025, 0.0025, 0.00025]);
  });

  it('llama3 keeps short waves, stretches long ones, blends between', () => {
    const scaling = { factor: 8, lowFreqFactor: 1, highFreqFactor: 4, originalMaxPositions: 32 };
    const frequencies = ropeFrequencies({ type: 'llama3', theta: 10_000, ...scaling }, 8);
    // Waves within 32 positions: 5.09 (kept), 0.509, 0.0509, 0.00509 (all under one: stretched by 8).
    expect(rounded(frequencies)).toEqual([1, 0.0125, 0.00125, 0.000125]);
    const [, blended] = ropeFrequencies({ type: 'llama3', theta: 10_000, ...scaling, originalMaxPositions: 128 }, 8);
    // 2.0372 waves: 0.34573 of the way from 1 to 4.
    expect(blended).toBeCloseTo(0.65427 * 0.0125 + 0.34573 * 0.1, 6);
  });

  it('yarn ramps from kept to stretched, and scales cos and sin', () => {
    const rope = {
      type: 'yarn',
      theta: 10_000,
      factor: 4,
      originalMaxPositions: 64,
      betaFast: 32,
      betaSlow: 1,
      attentionFactor: 1.5,
    } as const;
    // headDim 16: 32 turns lie before pair 0, one turn at pair 2.02, so the ramp runs from pair 0 to pair 3.
    const plain = ropeFrequencies({ type: 'default', theta: 10_000 }, 16);
    const ratios = ropeFrequencies(rope, 16).map((frequency, i) => frequency / plain[i]!);
    expect(rounded(ratios)).toEqual([1, 0.75, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25]);
    const { cos } = ropeTables(rope, 16, 1);
    expect([...cos]).toEqual(Array(8).fill(1.5));
  });
});
