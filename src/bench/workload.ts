import { readFile } from 'node:fs/promises';
import { RxllmError } from '../core/errors.ts';
import type { BenchRequest } from './client.ts';
import { type Distribution, draw } from './distribution.ts';

/** A request and when it arrives, in milliseconds from the start of the load. */
export interface TimedRequest extends BenchRequest {
  readonly arrivalMs: number;
}

export interface Workload {
  readonly name: string;
  readonly requests: readonly TimedRequest[];
}

/**
 * Reads a workload file: `{ name, requests: [{ prompt, max_tokens, ignore_eos?, temperature?, arrival_ms? }] }`, or
 * `{ name, prefix, suffixes, max_tokens? }`, a request for each suffix. `maxTokens` is for requests that set none.
 * @throws RxllmError `RXLLM_OPTION_INVALID`, naming the field
 */
export async function readWorkload(path: string, maxTokens: number): Promise<Workload> {
  const fail = (problem: string): never => {
    throw new RxllmError('RXLLM_OPTION_INVALID', `--workload ${path}: ${problem}.`, { param: 'workload' });
  };
  const text = await readFile(path, 'utf8').catch((error: Error) => fail(error.message));
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    fail((error as Error).message);
  }
  return parseWorkload(json, maxTokens, fail);
}

type Field = 'name' | 'requests' | 'prefix' | 'suffixes' | 'max_tokens';

export function parseWorkload(json: unknown, maxTokens: number, fail: (problem: string) => never): Workload {
  const file = (typeof json === 'object' && json !== null ? json : fail('it is no object')) as Partial<
    Record<Field, unknown>
  >;
  const { name, requests, prefix, suffixes, max_tokens } = file;
  const list = Array.isArray(requests)
    ? requests
    : typeof prefix === 'string' && Array.isArray(suffixes)
      ? suffixes.map((suffix) => ({ prompt: prefix + suffix, max_tokens }))
      : fail('it has neither "requests" nor "prefix" and "suffixes"');
  if (list.length === 0) fail('it has no requests');
  return {
    name: typeof name === 'string' ? name : 'workload',
    requests: list.map((entry: unknown, index) => {
      const at = (problem: string) => fail(`requests[${index}].${problem}`);
      const { prompt, ...rest } = (entry ?? {}) as Record<string, unknown>;
      const field = <T>(key: string, is: (value: unknown) => value is T, wanted: string, otherwise: T): T => {
        const value = rest[key];
        if (value === undefined) return otherwise;
        return is(value) ? value : at(`${key} is ${JSON.stringify(value)}, not ${wanted}`);
      };
      return {
        prompt: typeof prompt === 'string' && prompt !== '' ? prompt : at('prompt is not a text'),
        params: {
          maxTokens: field('max_tokens', isCount, 'a whole number of at least 1', maxTokens),
          temperature: field('temperature', isTime, 'a number of at least 0', 0),
          ignoreEos: field('ignore_eos', isBoolean, 'true or false', false),
        },
        arrivalMs: field('arrival_ms', isTime, 'a number of at least 0', 0),
      };
    }),
  };
}

const isCount = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 1;
const isTime = (value: unknown): value is number => typeof value === 'number' && value >= 0;
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';

export interface Synthetic {
  readonly requests: number;
  readonly promptLength: Distribution;
  readonly outputLength: Distribution;
  readonly vocab: number;
  /** Ids that a prompt must not hold: those that end a text. */
  readonly eosIds: ReadonlySet<number>;
  readonly random: () => number;
}

/** Prompts of random token ids, so that their lengths are exact and no two share a prefix; all arrive at once. */
export function syntheticWorkload({
  requests,
  promptLength,
  outputLength,
  vocab,
  eosIds,
  random,
}: Synthetic): Workload {
  const tokenId = () => {
    let id = 0;
    do id = Math.floor(random() * vocab);
    while (eosIds.has(id));
    return id;
  };
  return {
    name: 'random tokens',
    requests: Array.from({ length: requests }, () => ({
      prompt: Array.from({ length: draw(promptLength, random) }, tokenId),
      params: { maxTokens: draw(outputLength, random), temperature: 0, ignoreEos: true },
      arrivalMs: 0,
    })),
  };
}

/** Requests per second of a Poisson process, all at once, or as the workload has it. */
export type RequestRate = number | 'inf' | 'workload';

/** Sets the arrivals. Gaps of a Poisson process are exponential: `−ln(1 − u) / rate`. In the order of arrival. */
export function withArrivals({ name, requests }: Workload, rate: RequestRate, random: () => number): Workload {
  if (rate === 'workload') return { name, requests: requests.toSorted((a, b) => a.arrivalMs - b.arrivalMs) };
  let at = 0;
  return {
    name,
    requests: requests.map((request) => {
      if (rate !== 'inf') at += (-Math.log(1 - random()) / rate) * 1000;
      return { ...request, arrivalMs: at };
    }),
  };
}

/** Draws of the sampler can be had again: each request that draws has a seed of its own. */
export function withSeeds({ name, requests }: Workload, seed: number): Workload {
  return {
    name,
    requests: requests.map((request, index) =>
      request.params.temperature > 0 ? { ...request, params: { ...request.params, seed: seed + index } } : request,
    ),
  };
}
