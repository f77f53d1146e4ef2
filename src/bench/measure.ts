import { lastValueFrom, type SchedulerLike, tap, toArray } from 'rxjs';
import type { BenchRequest } from './client.ts';
import { alternate, type Ratio, ratio } from './compare.ts';
import type { Contestant } from './contestants.ts';
import { load } from './load.ts';
import { type Goodput, type LoadStats, toLoadStats } from './load-stats.ts';
import type { Progress } from './progress.ts';
import type { RequestRecord } from './record.ts';
import { type BenchStats, type Run, toBenchStats } from './stats.ts';
import type { Workload } from './workload.ts';

/** What each engine gave, in their order, and how those after the first compare with it. */
export interface Measured<Stats> {
  readonly results: readonly { readonly engine: string; readonly stats: Stats }[];
  readonly comparisons: readonly Comparison[];
}

export interface Comparison {
  readonly engine: string;
  readonly against: string;
  /** By the label of the figure; undefined where it was not measured. */
  readonly ratios: Readonly<Record<string, Ratio | undefined>>;
}

/** Told of each part that is done, and of each run of an engine. */
export interface Watch extends Pick<Progress, 'advance'> {
  readonly ran?: (engine: string) => void;
}

type Figures<T> = Readonly<Record<string, (turn: T) => number>>;

export interface PromptJob {
  readonly request: BenchRequest;
  readonly runs: number;
  readonly warmup: number;
}

const RUN_FIGURES: Figures<Run> = {
  'Tok/s': ({ outputTokens, wallMs }) => outputTokens / wallMs,
  'Wall time': ({ wallMs }) => wallMs,
  TTFT: ({ ttftMs }) => ttftMs,
  TPOT: ({ tpotMs }) => tpotMs,
};

/** One request at a time, again and again; several engines in turn. */
export async function measurePrompt(
  contestants: readonly Contestant[],
  { request, runs, warmup }: PromptJob,
  { advance, ran }: Watch,
): Promise<Measured<BenchStats>> {
  await warmUp(contestants, request, warmup);
  const turns = contestants.map(({ name, run }) => ({ name, run: told(name, () => run(request), ran) }));
  return measured(contestants, await alternate(turns, runs, advance), toBenchStats, RUN_FIGURES);
}

export interface LoadJob {
  readonly workload: Workload;
  /** How many times the whole load runs on each engine. */
  readonly runs: number;
  readonly warmup: number;
  readonly maxConcurrency?: number;
  readonly goodput?: Goodput;
  readonly scheduler: SchedulerLike;
}

type Records = readonly RequestRecord[];

const loadFigure =
  (figure: (stats: LoadStats) => number | undefined) =>
  (records: Records): number =>
    figure(toLoadStats([records])) ?? 0;

const LOAD_FIGURES: Figures<Records> = {
  'Tok/s': loadFigure(({ outputThroughput }) => outputThroughput),
  'Req/s': loadFigure(({ requestThroughput }) => requestThroughput),
  TTFT: loadFigure(({ ttft }) => ttft?.mean),
  TPOT: loadFigure(({ tpot }) => tpot?.mean),
  'End to end': loadFigure(({ e2e }) => e2e?.mean),
};

/** A whole load; several engines in turn. */
export async function measureLoad(
  contestants: readonly Contestant[],
  { workload: { requests }, runs, warmup, goodput, ...options }: LoadJob,
  { advance, ran }: Watch,
): Promise<Measured<LoadStats>> {
  await warmUp(contestants, requests[0]!, warmup);
  const turns = contestants.map(({ name, client }) => ({
    name,
    run: told(name, () => lastValueFrom(load(client, requests, options).pipe(tap(advance), toArray())), ran),
  }));
  return measured(contestants, await alternate(turns, runs), (rounds) => toLoadStats(rounds, goodput), LOAD_FIGURES);
}

const told =
  <T>(engine: string, run: () => Promise<T>, ran: Watch['ran']): (() => Promise<T>) =>
  async () => {
    const result = await run();
    ran?.(engine);
    return result;
  };

/** Pages in the weights, fills caches, lets V8 compile; what it takes is not counted. */
async function warmUp(contestants: readonly Contestant[], request: BenchRequest, times: number): Promise<void> {
  for (const { run } of contestants) {
    for (let i = 0; i < times; i++) await run(request);
  }
}

function measured<T, Stats>(
  contestants: readonly Contestant[],
  rounds: readonly (readonly T[])[],
  toStats: (rounds: readonly T[]) => Stats,
  figures: Figures<T>,
): Measured<Stats> {
  const results = contestants.map(({ name }, index) => ({ engine: name, stats: toStats(rounds[index]!) }));
  const [first, ...others] = contestants;
  const comparisons = others.map(({ name }, index) => ({
    engine: name,
    against: first!.name,
    ratios: Object.fromEntries(
      Object.entries(figures).map(([label, figure]) => [
        label,
        ratio(rounds[0]!.map(figure), rounds[index + 1]!.map(figure)),
      ]),
    ),
  }));
  return { results, comparisons };
}
