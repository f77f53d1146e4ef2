import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { concatMap, interval } from 'rxjs';
import type { Instruments } from './metrics/instruments.ts';

/** Of all engines that run; rates are of the time since the report before. */
export interface Status {
  readonly running: number;
  readonly waiting: number;
  /** KV blocks in use, 0 to 1, of the engine where it is the highest. */
  readonly kvCacheUsage: number;
  readonly promptTokensPerS: number;
  readonly generationTokensPerS: number;
  /** Of the prompt tokens looked for, 0 to 1; absent where none was. */
  readonly prefixCacheHitRate?: number;
}

/** Logs one line every `everyMs` while there is work. */
export function logStatus(app: FastifyInstance, logger: Logger, instruments: Instruments, everyMs: number): void {
  const report = statusReports(instruments);
  const reporting = interval(everyMs)
    .pipe(concatMap(() => report(performance.now())))
    .subscribe((status) => {
      if (status !== undefined) logger.info(status, statusLine(status));
    });
  app.addHook('onClose', async () => reporting.unsubscribe());
}

/** Each call tells of the time since the call before, in milliseconds; undefined where nothing ran and nothing waits. */
export function statusReports(instruments: Instruments, startedAt = performance.now()) {
  const { running, waiting, kvUsage, promptTokens, generationTokens, prefixQueries, prefixHits } = instruments;
  const counters = { promptTokens, generationTokens, prefixQueries, prefixHits };
  let before = { promptTokens: 0, generationTokens: 0, prefixQueries: 0, prefixHits: 0, at: startedAt };
  return async (now: number): Promise<Status | undefined> => {
    const sums = { ...before, at: now };
    for (const name of Object.keys(counters) as (keyof typeof counters)[])
      sums[name] = sum(await values(counters[name]));
    const seconds = (now - before.at) / 1000;
    const prompt = sums.promptTokens - before.promptTokens;
    const generated = sums.generationTokens - before.generationTokens;
    const queries = sums.prefixQueries - before.prefixQueries;
    const hits = sums.prefixHits - before.prefixHits;
    before = sums;
    const status: Status = {
      running: sum(await values(running)),
      waiting: sum(await values(waiting)),
      kvCacheUsage: Math.max(0, ...(await values(kvUsage))),
      promptTokensPerS: seconds > 0 ? prompt / seconds : 0,
      generationTokensPerS: seconds > 0 ? generated / seconds : 0,
      ...(queries > 0 && { prefixCacheHitRate: hits / queries }),
    };
    return status.running + status.waiting + prompt + generated > 0 ? status : undefined;
  };
}

export function statusLine(status: Status): string {
  const rate = (tokens: number) => `${tokens.toFixed(1)} tokens/s`;
  const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
  return [
    `running ${status.running}`,
    `waiting ${status.waiting}`,
    `KV cache ${percent(status.kvCacheUsage)}`,
    `prompt ${rate(status.promptTokensPerS)}`,
    `generation ${rate(status.generationTokensPerS)}`,
    ...(status.prefixCacheHitRate === undefined ? [] : [`prefix cache hits ${percent(status.prefixCacheHitRate)}`]),
  ].join(', ');
}

interface Metric {
  get(): Promise<{ readonly values: readonly { readonly value: number }[] }>;
}

async function values(metric: Metric): Promise<number[]> {
  return (await metric.get()).values.map(({ value }) => value);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
