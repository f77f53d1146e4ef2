import { describe, expect, it } from 'vitest';
import { percentile, quartiles, type Run, summarize, toBenchStats } from './stats.ts';

const run = (wallMs: number, outputTokens: number, ttftMs = 0, tpotMs = 0): Run => ({
  wallMs,
  outputTokens,
  ttftMs,
  tpotMs,
});

describe('toBenchStats', () => {
  it('divides all tokens by all time', () => {
    expect(toBenchStats([run(100, 10, 20, 5), run(300, 50, 40, 7)])).toEqual({
      reqPerS: 5,
      tokPerS: 150,
      wallMs: 200,
      outputTokens: 30,
      nRuns: 2,
      ttftMs: 30,
      tpotMs: 6,
      wallTimes: [100, 300],
    });
  });

  it('leaves what was not measured out of the average, and says 0 where nothing was', () => {
    const { ttftMs, tpotMs } = toBenchStats([run(100, 1, 20), run(100, 1), run(100, 1, 40)]);
    expect({ ttftMs, tpotMs }).toEqual({ ttftMs: 30, tpotMs: 0 });
  });

  it('has no statistics of nothing', () => {
    expect(() => toBenchStats([])).toThrow(RangeError);
  });
});

describe('percentile', () => {
  // The expected values are numpy's.
  it.each([
    [[7], 99, 7],
    [[4, 1, 3, 2], 0, 1],
    [[4, 1, 3, 2], 50, 2.5],
    [[4, 1, 3, 2], 100, 4],
    [[15, 20, 35, 40, 50], 40, 29],
    [[10, 20], 95, 19.5],
  ])('of %j at %d is %d', (values, percent, expected) => {
    expect(percentile(values, percent)).toBeCloseTo(expected, 12);
  });

  it('of a hundred and one values is the value itself, and leaves their order alone', () => {
    const values = Array.from({ length: 101 }, (_, index) => 100 - index);
    expect([50, 95, 99].map((percent) => percentile(values, percent))).toEqual([50, 95, 99]);
    expect(values[0]).toBe(100);
  });

  it('of nothing is an error', () => {
    expect(() => percentile([], 50)).toThrow(RangeError);
  });
});

it('writes quartiles', () => {
  expect(quartiles([1, 4, 2, 3, 5], 1)).toBe('2.0 to 4.0');
});

it('summarizes what there is', () => {
  expect(summarize([1, 2, 3, 4, 5])).toEqual({ mean: 3, p50: 3, p95: 4.8, p99: 4.96 });
  expect(summarize([])).toBeUndefined();
});
