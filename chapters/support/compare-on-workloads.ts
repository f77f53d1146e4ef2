import { fileURLToPath } from 'node:url';
import { loadModel } from 'rxllm';
import {
  createProgress,
  type LoadStats,
  type Measured,
  measureLoad,
  performanceClock,
  readWorkload,
  withServers,
} from 'rxllm/bench';
import { args, size } from './args.ts';
import { ratioOf } from './ratio-of.ts';
import { markdownTable } from './table.ts';

const WORKLOADS = ['uniform-8-128', 'loguniform-8-128'];

/** Two engines behind HTTP, in turn, on loads whose requests come all at once. As Markdown. */
export async function compareOnWorkloads(engines: readonly [string, string]): Promise<string> {
  const model = await loadModel(args.model);
  const runs = size(7, 1);
  const rows: string[][] = [];
  const ratios: string[] = [];
  const count = size(64, 6);
  for (const name of WORKLOADS) {
    const path = fileURLToPath(new URL(`../../bench/workloads/${name}.json`, import.meta.url));
    const { requests: all } = await readWorkload(path, 1);
    const requests = all.slice(0, count).map((request) => ({ ...request, arrivalMs: 0 }));
    const progress = createProgress(name, runs * requests.length * engines.length);
    const job = { workload: { name, requests }, runs, warmup: size(3, 1), scheduler: performanceClock };
    const measured = await withServers({ engines, model, maxQueue: 256 }, (contestants) =>
      measureLoad(contestants, job, progress),
    );
    progress.stop();
    rows.push(...rowsOf(name, measured));
    ratios.push(`${ratioOf(measured, 2)} on \`${name}\``);
  }
  const table = markdownTable(['workload', 'engine', 'tokens/s', 'mean TTFT ms', 'mean TPOT ms'], rows);
  return `${table}

${count} requests at once over HTTP, 8 rows, ${runs} pairs in turn. Tokens/s of \`${engines[1]}\` over \`${engines[0]}\`: ${ratios.join(', ')} (median of the pairs, quartiles).`;
}

function rowsOf(workload: string, { results }: Measured<LoadStats>): string[][] {
  return results.map(({ engine, stats: { outputThroughput, ttft, tpot } }) => [
    workload,
    `\`${engine}\``,
    outputThroughput.toFixed(1),
    ttft?.mean.toFixed(0) ?? '–',
    tpot?.mean.toFixed(2) ?? '–',
  ]);
}
