import { describe, expect, it } from 'vitest';
import { createRandom } from '../core/sampling/random.ts';
import { draw, parseDistribution } from './distribution.ts';

describe('parseDistribution', () => {
  it.each([
    ['64', { type: 'fixed', value: 64 }],
    ['uniform:8-128', { type: 'uniform', min: 8, max: 128 }],
    ['log-uniform:8-8', { type: 'log-uniform', min: 8, max: 8 }],
  ])('%s', (text, expected) => expect(parseDistribution(text)).toEqual(expected));

  it.each(['', '0', '-1', '1.5', '8-128', 'uniform:8', 'uniform:128-8', 'uniform:0-8', 'normal:8-9', '64 '])(
    'refuses "%s"',
    (text) => expect(parseDistribution(text)).toBeUndefined(),
  );
});

describe('draw', () => {
  const ends = (type: 'uniform' | 'log-uniform') =>
    [0, 0.5, 1 - 2 ** -53].map((x) => draw({ type, min: 8, max: 127 }, () => x));

  it('reaches both ends', () => {
    expect(ends('uniform')).toEqual([8, 68, 127]);
    // The middle of 8 to 128 in octaves is 32.
    expect(ends('log-uniform')).toEqual([8, 32, 127]);
    expect(draw({ type: 'fixed', value: 5 }, Math.random)).toBe(5);
  });

  it('gives the same values for the same seed', () => {
    const random = createRandom(1);
    const values = Array.from({ length: 6 }, () => draw({ type: 'log-uniform', min: 1, max: 1000 }, random));
    const again = createRandom(1);
    expect(values).toEqual(values.map(() => draw({ type: 'log-uniform', min: 1, max: 1000 }, again)));
  });

  it('gives each whole number, and each octave, its share', () => {
    const random = createRandom(2);
    const count = (distribution: Parameters<typeof draw>[0], from: number, to: number) =>
      Array.from({ length: 8000 }, () => draw(distribution, random)).filter((value) => value >= from && value <= to)
        .length / 8000;
    expect(count({ type: 'uniform', min: 1, max: 4 }, 4, 4)).toBeCloseTo(0.25, 1);
    expect(count({ type: 'log-uniform', min: 1, max: 255 }, 128, 255)).toBeCloseTo(1 / 8, 1);
    expect(count({ type: 'log-uniform', min: 1, max: 255 }, 1, 1)).toBeCloseTo(1 / 8, 1);
  });
});
