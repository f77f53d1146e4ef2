import { VirtualTimeScheduler } from 'rxjs';
import { expect, it } from 'vitest';
import { scriptedEngine } from '../../test/support/scripted-engine.ts';
import { inProcess } from './contestants.ts';
import { measureLoad, measurePrompt } from './measure.ts';

const request = { prompt: 'abc', params: { maxTokens: 3, temperature: 0, ignoreEos: true } };

async function contestants(...names: string[]) {
  const scripted = await Promise.all(names.map((name) => scriptedEngine({}, {}, { name })));
  return {
    contestants: scripted.map(({ engine }) => inProcess(engine)),
    passes: () => scripted.map(({ runner }) => runner.calls.length),
  };
}

it('runs a prompt on each engine, after runs that do not count', async () => {
  const { contestants: both, passes } = await contestants('a', 'b');
  let turns = 0;
  const { results, comparisons } = await measurePrompt(
    both,
    { request, runs: 4, warmup: 2 },
    { advance: () => turns++ },
  );
  expect(turns).toBe(8);
  expect(passes()).toEqual([18, 18]);
  expect(results.map(({ engine, stats }) => [engine, stats.nRuns, stats.outputTokens])).toEqual([
    ['a', 4, 3],
    ['b', 4, 3],
  ]);
  expect(comparisons).toMatchObject([{ engine: 'b', against: 'a', ratios: { 'Tok/s': { pairs: 4 } } }]);
});

it('has nothing to compare for one engine', async () => {
  const { contestants: one } = await contestants('a');
  const { comparisons } = await measurePrompt(one, { request, runs: 1, warmup: 0 }, { advance: () => {} });
  expect(comparisons).toEqual([]);
});

it('runs a whole load on each engine in turn, and takes its rounds together', async () => {
  const { contestants: both, passes } = await contestants('a', 'b');
  const workload = { name: 'two', requests: [request, request].map((each) => ({ ...each, arrivalMs: 0 })) };
  let requests = 0;
  const { results, comparisons } = await measureLoad(
    both,
    { workload, runs: 3, warmup: 1, maxConcurrency: 8, goodput: { e2e: 1e9 }, scheduler: new VirtualTimeScheduler() },
    { advance: () => requests++ },
  );
  expect(requests).toBe(12);
  expect(passes()).toEqual([21, 21]);
  expect(results.map(({ stats }) => [stats.completed, stats.inputTokens, stats.outputTokens])).toEqual([
    [6, 18, 18],
    [6, 18, 18],
  ]);
  expect(results[0]!.stats.goodput).toBe(results[0]!.stats.requestThroughput);
  expect(comparisons).toMatchObject([{ engine: 'b', against: 'a', ratios: { 'Req/s': { pairs: 3 } } }]);
});
