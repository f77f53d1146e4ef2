import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../core/sampling/random.ts';
import { parseWorkload, readWorkload, syntheticWorkload, withArrivals, withSeeds } from './workload.ts';

const fail = (problem: string): never => {
  throw new Error(problem);
};
const parse = (json: unknown) => parseWorkload(json, 32, fail);

describe('a workload file', () => {
  it('gives its requests, with defaults for what they leave open', () => {
    const given = { prompt: 'b', max_tokens: 7, ignore_eos: true, temperature: 0.5, arrival_ms: 120, prompt_tokens: 1 };
    expect(parse({ name: 'two', requests: [{ prompt: 'a' }, given] })).toEqual({
      name: 'two',
      requests: [
        { prompt: 'a', params: { maxTokens: 32, temperature: 0, ignoreEos: false }, arrivalMs: 0 },
        { prompt: 'b', params: { maxTokens: 7, temperature: 0.5, ignoreEos: true }, arrivalMs: 120 },
      ],
    });
  });

  it('gives a request for each suffix of a shared prefix', () => {
    const { requests } = parse({ prefix: 'a', suffixes: ['b', 'c'], max_tokens: 16 });
    expect(requests.map(({ prompt, params }) => [prompt, params.maxTokens])).toEqual([
      ['ab', 16],
      ['ac', 16],
    ]);
  });

  it.each([
    [null, 'it is no object'],
    [{}, 'it has neither "requests" nor "prefix" and "suffixes"'],
    [{ requests: [] }, 'it has no requests'],
    [{ requests: [{ prompt: 'a' }, {}] }, 'requests[1].prompt is not a text'],
    [{ requests: [{ prompt: 'a', max_tokens: 0 }] }, 'requests[0].max_tokens is 0, not a whole number of at least 1'],
    [{ requests: [{ prompt: 'a', arrival_ms: 'now' }] }, 'requests[0].arrival_ms is "now", not a number of at least 0'],
  ])('%j is refused', (json, problem) => {
    expect(() => parse(json)).toThrow(problem);
  });

  it('is read from disk; what cannot be read names the option and the file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'rxllm-'));
    const path = join(directory, 'w.json');
    try {
      await writeFile(path, '{"requests":[{"prompt":"a"}]}');
      expect((await readWorkload(path, 8)).requests).toHaveLength(1);
      await writeFile(path, '{');
      const refused = { code: 'RXLLM_OPTION_INVALID', param: 'workload' };
      await expect(readWorkload(path, 8)).rejects.toMatchObject(refused);
      await expect(readWorkload(join(directory, 'none.json'), 8)).rejects.toMatchObject(refused);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe('a synthetic workload', () => {
  const make = (seed: number) =>
    syntheticWorkload({
      requests: 50,
      promptLength: { type: 'uniform', min: 2, max: 5 },
      outputLength: { type: 'fixed', value: 9 },
      vocab: 4,
      eosIds: new Set([0, 2]),
      random: createRandom(seed),
    }).requests;

  it('has prompts of the lengths asked for, without end tokens', () => {
    const requests = make(1);
    const prompts = requests.map(({ prompt }) => prompt as readonly number[]);
    expect(new Set(prompts.map(({ length }) => length))).toEqual(new Set([2, 3, 4, 5]));
    expect(new Set(prompts.flat())).toEqual(new Set([1, 3]));
    expect(requests[0]).toMatchObject({ params: { maxTokens: 9, ignoreEos: true }, arrivalMs: 0 });
  });

  it('is the same for the same seed', () => {
    expect(make(1)).toEqual(make(1));
    expect(make(1)).not.toEqual(make(2));
  });
});

describe('arrivals', () => {
  const request = { prompt: 'a', params: { maxTokens: 1, temperature: 0, ignoreEos: true } };
  const workload = { name: 'w', requests: [30, 10, 20].map((arrivalMs) => ({ ...request, arrivalMs })) };
  const times = (rate: Parameters<typeof withArrivals>[1], random = () => 0.5) =>
    withArrivals(workload, rate, random).requests.map(({ arrivalMs }) => arrivalMs);

  it('come all at once, as the file has them in their order, or with exponential gaps', () => {
    expect(times('inf')).toEqual([0, 0, 0]);
    expect(times('workload')).toEqual([10, 20, 30]);
    const gap = Math.LN2 * 500;
    expect(times(2)).toEqual([gap, gap + gap, gap + gap + gap]);
  });

  it('keep the rate on average', () => {
    const many = { name: 'w', requests: Array.from({ length: 20_000 }, () => ({ ...request, arrivalMs: 0 })) };
    const last = withArrivals(many, 50, createRandom(3)).requests.at(-1)!.arrivalMs;
    // Four standard errors of the mean gap of 20 ms.
    expect(Math.abs(last / 20_000 - 20)).toBeLessThan((4 * 20) / Math.sqrt(20_000));
  });
});

it('seeds the requests that draw, each its own way', () => {
  const request = (temperature: number) => ({
    prompt: 'a',
    params: { maxTokens: 1, temperature, ignoreEos: true },
    arrivalMs: 0,
  });
  const seeded = withSeeds({ name: 'w', requests: [request(1), request(0), request(0.5)] }, 40);
  expect(seeded.requests.map(({ params }) => params.seed)).toEqual([40, undefined, 42]);
});
