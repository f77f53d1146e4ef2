import { Argument, type Command, Option } from 'commander';
import { MIN_PAIRS } from '../bench/compare.ts';
import { distribution, goodput, requestRate } from './bench-options.ts';
import { modelOption } from './model-options.ts';
import { DEFAULT_ENGINE, engineNames, integer, notEmpty } from './options.ts';
import { type BenchMode, type BenchOptions, LOAD_OPTIONS, MODES, runBench } from './run-bench.ts';

/** `rxllm bench`: one request at a time, or a load of many, in this process or over HTTP, on one engine or several. */
export function addBench(program: Command): void {
  program
    .command('bench')
    .description('measure engines: one prompt again and again, or a load of many requests')
    .addArgument(
      new Argument(`<${Object.keys(MODES).join('|')}>`, 'in this process, or over HTTP').choices(Object.keys(MODES)),
    )
    .addOption(
      new Option('--engine <names>', 'engines, separated by commas: run in turn and compared')
        .argParser(engineNames)
        .default([DEFAULT_ENGINE], DEFAULT_ENGINE),
    )
    .addOption(modelOption())
    .option(
      '--runs <number>',
      `of each engine; at least ${MIN_PAIRS} to compare several (default: 20; of a load 1, or ${MIN_PAIRS} to compare)`,
      integer(1),
    )
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
    .action((mode: BenchMode, options: BenchOptions, command: Command) => {
      check(options, command);
      return runBench(mode, options);
    });
}

/** What only several options together can get wrong. */
function check({ engine, runs, requestRate: rate, workload }: BenchOptions, command: Command): void {
  const refuse = (option: string, value: unknown, allowed: string) =>
    command.error(`error: option '${option}' argument '${value}' is invalid. Allowed: ${allowed}.`, { exitCode: 2 });
  if (engine.length > 1 && runs !== undefined && runs < MIN_PAIRS) {
    refuse('--runs <number>', runs, `a whole number of at least ${MIN_PAIRS} where engines are compared`);
  }
  if (rate === 'workload' && workload === undefined) {
    refuse('--request-rate <rate>', rate, 'a number above 0, or inf; workload only together with --workload');
  }
}
