import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutIntoRuns } from './cut-into-runs.ts';

const cut = (sizes: readonly number[], runCost: number) => cutIntoRuns(sizes, (size) => size, runCost);
const cost = (runs: readonly (readonly number[])[], runCost: number) =>
  runs.reduce((sum, run) => sum + runCost + run.length * Math.max(...run), 0);

test.each([
  ['one row', [7], 8, [[7]]],
  ['equal rows', [40, 40, 40], 8, [[40, 40, 40]]],
  ['a long prompt beside short ones', [1, 256, 1, 1], 8, [[256], [1, 1, 1]]],
  ['little padding', [40, 36, 38], 8, [[40, 36, 38]]],
  ['every row far from the next', [100, 60, 80], 8, [[100], [80], [60]]],
  ['a few alike, whoever is longest', [256, 250, 250, 250], 8, [[256], [250, 250, 250]]],
  ['dear runs', [100, 60, 80], 100, [[100, 60, 80]]],
])('%s', (_, sizes, runCost, runs) => {
  expect(cut(sizes, runCost)).toEqual(runs);
});

/** Every way to cut rows into runs. */
function* partitions(sizes: readonly number[]): Generator<number[][]> {
  const [first, ...rest] = sizes;
  if (first === undefined) return yield [];
  for (const runs of partitions(rest)) {
    yield [[first], ...runs];
    for (let i = 0; i < runs.length; i++) yield runs.map((run, at) => (at === i ? [first, ...run] : run));
  }
}

test('no way is cheaper, and every row runs once', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20), { minLength: 1, maxLength: 6 }), fc.nat(30), (sizes, runCost) => {
      const runs = cut(sizes, runCost);
      expect(runs.flat().sort()).toEqual([...sizes].sort());
      const least = Math.min(...Array.from(partitions(sizes), (each) => cost(each, runCost)));
      expect(cost(runs, runCost)).toBe(least);
    }),
  );
});
