/**
 * The batching engines over HTTP on the embedded model, 8 rows, on the fixed workloads:
 * `npx tsx bench/batching.ts [--pairs 7] [--only WORKLOAD] [--streamed] [--model DIR]`. Two engines take turns, and a figure is the median of the pairs'
 * ratios. Exits 1 where one misses its bound.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { lastValueFrom, toArray } from 'rxjs';
import { alternate, MIN_PAIRS, ratio } from '../src/bench/compare.ts';
import { type Contestant, withServers } from '../src/bench/contestants.ts';
import { load } from '../src/bench/load.ts';
import { toLoadStats } from '../src/bench/load-stats.ts';
import type { RequestRecord } from '../src/bench/record.ts';
import { mean } from '../src/bench/stats.ts';
import { readWorkload, type TimedRequest } from '../src/bench/workload.ts';
import { EMBEDDED_MODEL } from '../src/cli/options.ts';
import { performanceClock } from '../src/core/clock.ts';
import { loadModel } from '../src/core/model/load-model.ts';
import { printTable } from './support/report.ts';

const ROWS = 8;
const WARM_UPS = 3;
const { values: args } = parseArgs({
  options: {
    pairs: { type: 'string', default: String(MIN_PAIRS) },
    streamed: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    model: { type: 'string', default: EMBEDDED_MODEL },
  },
});

type Records = readonly RequestRecord[];
interface Case {
  readonly workload: string;
  readonly engines: readonly [before: string, after: string];
  readonly arrivals: 'at once' | 'in time';
  readonly figure: string;
  readonly of: (records: Records, late: ReadonlySet<number>) => number;
  readonly bound: { readonly least: number } | { readonly most: number };
}

const throughput = (records: Records) => toLoadStats([records]).outputThroughput;
const lateTtft = (records: Records, late: ReadonlySet<number>) =>
  mean(records.filter((_, index) => late.has(index)).map(({ ttftMs }) => ttftMs));

const [oneAtATime, static_, continuous] = ['kv-cache', 'static-batching', 'continuous-batching'];
const atOnce = { arrivals: 'at once', figure: 'tokens/s', of: throughput } as const;
const CASES: readonly Case[] = [
  { ...atOnce, workload: 'uniform-8-128', engines: [static_!, continuous!], bound: { least: 1.35 } },
  { ...atOnce, workload: 'loguniform-8-128', engines: [static_!, continuous!], bound: { least: 1.6 } },
  { ...atOnce, workload: 'uniform-8-128', engines: [oneAtATime!, static_!], bound: { least: 1.5 } },
  {
    workload: 'uniform-8-128',
    engines: [static_!, continuous!],
    arrivals: 'in time',
    figure: 'TTFT of late arrivals',
    of: lateTtft,
    bound: { most: 1 / 3 },
  },
];

/** In the order of the requests. */
async function run({ client }: Contestant, requests: readonly TimedRequest[]): Promise<Records> {
  const sorted = requests.toSorted((a, b) => a.arrivalMs - b.arrivalMs);
  const records = await lastValueFrom(load(client, sorted, { scheduler: performanceClock }).pipe(toArray()));
  const failed = records.find(({ outcome }) => outcome !== 'completed');
  if (failed) throw new Error(`a request ended as ${failed.outcome}: ${failed.error}`);
  return records.toSorted((a, b) => a.sentAt - b.sentAt);
}

/** Those that arrive when all rows are taken, by the times of the engine before. */
const lateOnes = (records: Records): ReadonlySet<number> =>
  new Set(
    records.flatMap(({ sentAt }, index) => {
      const underWay = records.filter((other) => other.sentAt < sentAt && other.endedAt > sentAt);
      return underWay.length >= ROWS ? [index] : [];
    }),
  );

const model = await loadModel(args.model);
const HEAD = ['workload', 'engines', 'figure', 'before', 'after', 'ratio (quartiles)', 'bound'];
for (const { workload: name, engines, arrivals, figure, of, bound } of CASES) {
  if (!name.startsWith(args.only)) continue;
  const path = fileURLToPath(new URL(`workloads/${name}.json`, import.meta.url));
  const workload = await readWorkload(path, 1);
  const requests = workload.requests.map((request) =>
    arrivals === 'in time' ? request : { ...request, arrivalMs: 0 },
  );
  // Who counts tokens per second need not see each: replies come whole, and the client leaves the cores to the server.
  const stream = args.streamed || of !== throughput;
  await withServers({ engines, model, maxQueue: 256, stream }, async (contestants) => {
    for (let i = 0; i < WARM_UPS; i++) for (const contestant of contestants) await run(contestant, requests);
    const turns = contestants.map((contestant) => ({ name: contestant.name, run: () => run(contestant, requests) }));
    const [before, after] = (await alternate(turns, Number(args.pairs))) as [Records[], Records[]];
    const late = before.map(lateOnes);
    const figures = [before, after].map((rounds) => rounds.map((records, round) => of(records, late[round]!)));
    const result = ratio(figures[0]!, figures[1]!);
    if (result === undefined) throw new Error(`${figure} was not measured: no request met its condition`);
    const isKept = 'least' in bound ? result.median >= bound.least : result.median <= bound.most;
    if (!isKept) process.exitCode = 1;
    const row = [
      `${name}, ${arrivals}`,
      `${engines[1]} ÷ ${engines[0]}`,
      figure,
      ...figures.map((values) => mean(values).toFixed(1)),
      `${result.median.toFixed(2)} (${result.q1.toFixed(2)} … ${result.q3.toFixed(2)})`,
      `${'least' in bound ? `≥ ${bound.least}` : `≤ ${bound.most.toFixed(2)}`} ${isKept ? 'kept' : 'MISSED'}`,
    ];
    printTable(HEAD, [row]);
  });
}
