import { writeFile } from 'node:fs/promises';
import { Argument, type Command, Option } from 'commander';
import { asyncScheduler, type SchedulerLike } from 'rxjs';
import { MIN_PAIRS } from '../bench/compare.ts';
import { type Contestant, withEngines, withServers } from '../bench/contestants.ts';
import type { Distribution } from '../bench/distribution.ts';
import { environment } from '../bench/environment.ts';
import type { Goodput, LoadStats } from '../bench/load-stats.ts';
import { type LoadJob, type Measured, measureLoad, measurePrompt, type PromptJob } from '../bench/measure.ts';
import { createProgress } from '../bench/progress.ts';
import { printLoad, printRatios, printStats } from '../bench/report.ts';
import type { BenchStats } from '../bench/stats.ts';
import { type RequestRate, readWorkload, syntheticWorkload, type Workload, withArrivals } from '../bench/workload.ts';
import type { Model } from '../core/contracts/index.ts';
import { loadModel } from '../core/model/load-model.ts';
import { createRandom } from '../core/sampling/random.ts';
import { distribution, engineNames, goodput, requestRate } from './bench-options.ts';
import { DEFAULT_ENGINE, EMBEDDED_MODEL, integer, modelDirectory, notEmpty } from './options.ts';

const PROMPT = 'Once upon a time there was a little fox who';
const MIN_QUEUE = 256;

type Mode = 'offline' | 'online';
const MODES: Readonly<Record<Mode, string>> = { offline: 'offline (in process)', online: 'online (HTTP)' };

interface BenchOptions {
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
const LOAD_OPTIONS = [
  'workload',
  'requests',
  'promptLen',
  'outputLen',
  'requestRate',
  'maxConcurrency',
  'goodput',
] as const satisfies readonly (keyof BenchOptions)[];

/** `rxllm bench`: one request at a time, or a load of many, in this process or over HTTP, on one engine or several. */
export function addBench(program: Command): void {
  program
    .command('bench')
    .description('measure engines: one prompt again and again, or a load of many requests')
    .addArgument(new Argument('<mode>', 'in this process, or over HTTP').choices(Object.keys(MODES)))
    .option('--engine <names>', 'engines, separated by commas: run in turn and compared', engineNames, [DEFAULT_ENGINE])
    .option('--model <dir>', 'a folder in Hugging Face layout', modelDirectory, EMBEDDED_MODEL)
    .option('--runs <number>', `default: 20; of a load 1, or ${MIN_PAIRS} when engines are compared`, integer(1))
    .option('--warmup <number>', 'requests before that are not counted', integer(0), 3)
    .option('--max-tokens <number>', 'tokens to generate at most', integer(1), 64)
    .option('--seed <number>', 'of random prompts, lengths, arrivals', integer(Number.MIN_SAFE_INTEGER), 0)
    .option('--json <file>', 'write the results there, with machine and versions', notEmpty)
    .addOption(
      new Option('--prompt <text>', 'one request at a time (default: the start of a story)')
        .argParser(notEmpty)
        .conflicts([...LOAD_OPTIONS]),
    )
    .addOption(
      new Option('--workload <file>', 'load: the requests of a JSON file')
        .argParser(notEmpty)
        .conflicts(['requests', 'promptLen', 'outputLen']),
    )
    .option('--requests <number>', 'load: as many of random tokens (default: 64)', integer(1))
    .option('--prompt-len <dist>', 'load: N, uniform:A-B or log-uniform:A-B tokens (default: 128)', distribution)
    .option('--output-len <dist>', 'load: likewise (default: --max-tokens)', distribution)
    .option('--request-rate <rate>', 'load: requests/s (Poisson), inf, or workload (default: inf)', requestRate)
    .option('--max-concurrency <number>', 'load: more wait at the client (default: no limit)', integer(1))
    .option('--goodput <limits>', 'load: count the requests within ttft:MS, tpot:MS, e2e:MS', goodput)
    .action((mode: Mode, options: BenchOptions, command: Command) => {
      check(options, command);
      return bench(mode, options);
    });
}

/** What only several options together can get wrong. */
function check({ engine, runs, requestRate: rate, workload }: BenchOptions, command: Command): void {
  const refuse = (option: string, value: unknown, allowed: string) =>
    command.error(`error: option '${option}' argument '${value}' is invalid. Allowed: ${allowed}.`, { exitCode: 2 });
  if (engine.length > 1 && runs !== undefined && runs < MIN_PAIRS) {
    refuse('--runs <number>', runs, `a whole number of at least ${MIN_PAIRS} where engines are compared`);
  }
  if (rate === 'workload' && workload === undefined) refuse('--request-rate <rate>', rate, 'this one with --workload');
}

async function bench(mode: Mode, options: BenchOptions): Promise<void> {
  const model = await loadModel(options.model);
  const compared = options.engine.length > 1;
  const measure = async <Job extends PromptJob | LoadJob, Stats>(
    job: Job,
    requests: number,
    run: (contestants: readonly Contestant[], job: Job, progress: { advance(): void }) => Promise<Measured<Stats>>,
  ) => {
    const field = { engines: options.engine, model, maxQueue: Math.max(MIN_QUEUE, requests) };
    const progress = createProgress(mode, job.runs * requests * options.engine.length);
    try {
      return await (mode === 'offline' ? withEngines : withServers)(field, (all) => run(all, job, progress));
    } finally {
      progress.stop();
    }
  };

  if (LOAD_OPTIONS.every((name) => options[name] === undefined)) {
    const { prompt = PROMPT, runs = 20, warmup, maxTokens } = options;
    const params = { maxTokens, temperature: 0, ignoreEos: false };
    const measured = await measure({ request: { prompt, params }, runs, warmup }, 1, measurePrompt);
    print(measured, (engine, stats: BenchStats) => printStats(`${engine} — ${MODES[mode]}`, stats));
    await save(options, { mode, model: model.name, prompt, max_tokens: maxTokens, warmup, runs, ...measured });
    return;
  }
  const { runs = compared ? MIN_PAIRS : 1, warmup, maxConcurrency = Number.POSITIVE_INFINITY } = options;
  const workload = await makeWorkload(options, model);
  const limits = options.goodput === undefined ? {} : { goodput: options.goodput };
  const job: LoadJob = { workload, runs, warmup, maxConcurrency, ...limits, scheduler: benchScheduler };
  const measured = await measure(job, workload.requests.length, measureLoad);
  const title = `${MODES[mode]}, ${workload.name} × ${workload.requests.length}`;
  print(measured, (engine, stats: LoadStats) => printLoad(`${engine} — ${title}`, stats, options.goodput));
  const { requestRate: rate = 'inf', seed, maxConcurrency: limit } = options;
  const settings = { request_rate: rate, ...(limit && { max_concurrency: limit }), seed, warmup, runs };
  await save(options, { mode, model: model.name, workload: workload.name, ...settings, ...limits, ...measured });
  if (measured.results.some(({ stats }) => stats.completed === 0)) process.exitCode = 1;
}

/** The clock that engines and the HTTP client read too; that of `asyncScheduler` has whole milliseconds. */
const benchScheduler: SchedulerLike = {
  now: () => performance.now(),
  schedule: asyncScheduler.schedule.bind(asyncScheduler),
};

async function makeWorkload(options: BenchOptions, { config, tokenizer }: Model): Promise<Workload> {
  const random = createRandom(options.seed);
  const { workload: file, maxTokens, requests = 64, requestRate: rate = 'inf' } = options;
  const { promptLen: promptLength = { type: 'fixed', value: 128 } } = options;
  const { outputLen: outputLength = { type: 'fixed', value: maxTokens } } = options;
  const { vocab } = config;
  const { eosIds } = tokenizer;
  const workload = file
    ? await readWorkload(file, maxTokens)
    : syntheticWorkload({ requests, promptLength, outputLength, vocab, eosIds, random });
  return withArrivals(workload, rate, random);
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

async function save({ json }: BenchOptions, results: object): Promise<void> {
  if (json !== undefined) await writeFile(json, `${JSON.stringify({ ...environment(), ...results }, null, 2)}\n`);
}
