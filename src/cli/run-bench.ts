import { writeFile } from 'node:fs/promises';
import { MIN_PAIRS } from '../bench/compare.ts';
import { type Contestant, withEngines, withServers } from '../bench/contestants.ts';
import type { Distribution } from '../bench/distribution.ts';
import { environment } from '../bench/environment.ts';
import type { Goodput } from '../bench/load-stats.ts';
import {
  type LoadJob,
  type Measured,
  measureLoad,
  measurePrompt,
  type PromptJob,
  type Watch,
} from '../bench/measure.ts';
import { createProgress } from '../bench/progress.ts';
import { printLoad, printRatios, printStats } from '../bench/report.ts';
import {
  type RequestRate,
  readWorkload,
  syntheticWorkload,
  type Workload,
  withArrivals,
  withSeeds,
} from '../bench/workload.ts';
import { performanceClock } from '../core/clock.ts';
import type { Model } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { loadModel } from '../core/model/load-model.ts';
import { createRandom } from '../core/sampling/random.ts';
import { note } from './note.ts';

const PROMPT = 'Once upon a time there was a little fox who';
const MIN_QUEUE = 256;

export type BenchMode = 'offline' | 'online';
export const MODES: Readonly<Record<BenchMode, string>> = { offline: 'offline (in process)', online: 'online (HTTP)' };

export interface BenchOptions {
  readonly engine: readonly string[];
  readonly model: string;
  readonly runs?: number;
  readonly warmup: number;
  readonly maxTokens: number;
  readonly seed: number;
  readonly json?: string;
  readonly prompt?: string;
  readonly workload?: string;
  readonly requests?: number;
  readonly promptLen?: Distribution;
  readonly outputLen?: Distribution;
  readonly requestRate?: RequestRate;
  readonly maxConcurrency?: number;
  readonly goodput?: Goodput;
}

/** Any of these makes it a load of many requests. */
export const LOAD_OPTIONS = [
  'workload',
  'requests',
  'promptLen',
  'outputLen',
  'requestRate',
  'maxConcurrency',
  'goodput',
] as const satisfies readonly (keyof BenchOptions)[];

/** Measures, prints the tables, and writes the results where `--json` says. */
export async function runBench(mode: BenchMode, options: BenchOptions): Promise<void> {
  const model = await loadModel(options.model);
  const isLoad = LOAD_OPTIONS.some((name) => options[name] !== undefined);
  const results = await (isLoad ? benchLoad : benchPrompt)(mode, options, model);
  if (options.json === undefined) return;
  const file = { ...environment(), mode, model: model.name, warmup: options.warmup, ...results };
  await writeFile(options.json, `${JSON.stringify(file, null, 2)}\n`);
}

async function benchPrompt(mode: BenchMode, options: BenchOptions, model: Model): Promise<object> {
  const { prompt = PROMPT, runs = 20, warmup, maxTokens } = options;
  const job: PromptJob = { request: { prompt, params: { maxTokens, temperature: 0, ignoreEos: false } }, runs, warmup };
  const measured = await measure({ mode, options, model, job, requests: 1, maxTokens }, measurePrompt);
  print(measured, (engine, stats) => printStats(`${engine} — ${MODES[mode]}`, stats));
  return { prompt, max_tokens: maxTokens, runs, ...measured };
}

async function benchLoad(mode: BenchMode, options: BenchOptions, model: Model): Promise<object> {
  const { warmup, seed, requestRate = 'inf', maxConcurrency, goodput } = options;
  const runs = options.runs ?? (options.engine.length > 1 ? MIN_PAIRS : 1);
  const workload = await makeWorkload(options, model);
  const { name, requests } = workload;
  const limits = { ...(maxConcurrency && { maxConcurrency }), ...(goodput && { goodput }) };
  const job: LoadJob = { workload, runs, warmup, ...limits, scheduler: performanceClock };
  const maxTokens = Math.max(...requests.map(({ params }) => params.maxTokens));
  const measured = await measure({ mode, options, model, job, requests: requests.length, maxTokens }, measureLoad);
  const title = `${MODES[mode]}, ${name} × ${requests.length}`;
  print(measured, (engine, stats) => printLoad(`${engine} — ${title}`, stats, goodput));
  if (measured.results.some(({ stats }) => stats.completed === 0)) process.exitCode = 1;
  return {
    workload: name,
    request_rate: requestRate,
    ...(maxConcurrency && { max_concurrency: maxConcurrency }),
    ...(goodput && { goodput }),
    seed,
    runs,
    ...measured,
  };
}

interface Measuring<Job> {
  readonly mode: BenchMode;
  readonly options: BenchOptions;
  readonly model: Model;
  readonly job: Job;
  /** Of one run. */
  readonly requests: number;
  /** Of the longest answer. */
  readonly maxTokens: number;
}

async function measure<Job extends { readonly runs: number }, Stats>(
  { mode, options: { engine: engines }, model, job, requests, maxTokens }: Measuring<Job>,
  run: (contestants: readonly Contestant[], job: Job, watch: Watch) => Promise<Measured<Stats>>,
): Promise<Measured<Stats>> {
  const progress = createProgress(mode, job.runs * requests * engines.length);
  const counts = [count(job.runs, 'run'), count(requests, 'request'), `up to ${count(maxTokens, 'token')}`];
  note(`${mode}: ${engines.join(', ')}: ${counts.join(' × ')}`);
  let runs = 0;
  const ran = (engine: string) => {
    runs += 1;
    note(`run ${runs} of ${job.runs * engines.length} is done: ${engine}`);
  };
  const withContestants = mode === 'offline' ? withEngines : withServers;
  try {
    return await withContestants({ engines, model, maxQueue: Math.max(MIN_QUEUE, requests) }, (contestants) =>
      run(contestants, job, { ...progress, ran }),
    );
  } finally {
    progress.stop();
  }
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;

async function makeWorkload(options: BenchOptions, { config, tokenizer }: Model): Promise<Workload> {
  const random = createRandom(options.seed);
  const { workload: file, maxTokens, requests = 64, requestRate: rate = 'inf' } = options;
  const { promptLen: promptLength = { type: 'fixed', value: 128 } } = options;
  const { outputLen: outputLength = { type: 'fixed', value: maxTokens } } = options;
  const { vocab, maxPositions } = config;
  const longest = promptLength.type === 'fixed' ? promptLength.value : promptLength.max;
  if (file === undefined && longest >= maxPositions) {
    const message = `--prompt-len: prompts of ${longest} tokens leave no room for an answer; the model's context has ${maxPositions}.`;
    throw new RxllmError('RXLLM_OPTION_INVALID', message, { param: 'promptLen' });
  }
  const { eosIds } = tokenizer;
  const workload = file
    ? await readWorkload(file, maxTokens)
    : syntheticWorkload({ requests, promptLength, outputLength, vocab, eosIds, random });
  return withSeeds(withArrivals(workload, rate, random), options.seed);
}

function print<Stats>(
  { results, comparisons }: Measured<Stats>,
  toTable: (engine: string, stats: Stats) => string,
): void {
  for (const { engine, stats } of results) process.stdout.write(`\n${toTable(engine, stats)}`);
  for (const { engine, against, ratios } of comparisons) {
    process.stdout.write(`\n${printRatios(against, engine, ratios)}`);
  }
}
