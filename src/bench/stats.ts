/** One measured run of one request. A time of 0 was not measured. */
export interface Run {
  readonly wallMs: number;
  /** From the result, never what was asked for: a reply may end early. */
  readonly outputTokens: number;
  readonly ttftMs: number;
  readonly tpotMs: number;
}

/** What one benchmark found: averages over its runs, with the runs' own times. A time of 0 was not measured. */
export interface BenchStats {
  readonly reqPerS: number;
  readonly tokPerS: number;
  /** A request, in milliseconds. */
  readonly wallMs: number;
  /** A request. */
  readonly outputTokens: number;
  readonly nRuns: number;
  readonly ttftMs: number;
  readonly tpotMs: number;
  /** Milliseconds of each run, in their order. */
  readonly wallTimes: readonly number[];
}

/** Rates are totals over total time: all tokens over all wall time. @throws RangeError without runs */
export function toBenchStats(runs: readonly Run[]): BenchStats {
  if (runs.length === 0) throw new RangeError('there are no runs to make statistics of');
  const wallTimes = runs.map(({ wallMs }) => wallMs);
  const seconds = sum(wallTimes) / 1000;
  const tokens = sum(runs.map(({ outputTokens }) => outputTokens));
  return {
    reqPerS: runs.length / seconds,
    tokPerS: tokens / seconds,
    wallMs: mean(wallTimes),
    outputTokens: tokens / runs.length,
    nRuns: runs.length,
    ttftMs: meanOfMeasured(runs.map(({ ttftMs }) => ttftMs)),
    tpotMs: meanOfMeasured(runs.map(({ tpotMs }) => tpotMs)),
    wallTimes,
  };
}

/**
 * The value below which `percent` of the values lie. Between two ranks it is interpolated linearly, rank
 * `percent / 100 × (n − 1)` in ascending order, as numpy does by default (type 7 of Hyndman and Fan, 1996). So p99 of
 * fewer than 100 values leans on the largest two alone.
 * @throws RangeError without values
 */
export function percentile(values: readonly number[], percent: number): number {
  return percentileOfSorted(ascending(values), percent);
}

export const median = (values: readonly number[]): number => percentile(values, 50);

/** The quartiles as text, `0.98 to 1.03`, for behind a median. */
export const quartiles = (values: readonly number[], digits: number): string =>
  [25, 75].map((percent) => percentile(values, percent).toFixed(digits)).join(' to ');

export interface Summary {
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Undefined where nothing was measured. */
export function summarize(values: readonly number[]): Summary | undefined {
  if (values.length === 0) return undefined;
  const sorted = ascending(values);
  const at = (percent: number) => percentileOfSorted(sorted, percent);
  return { mean: mean(values), p50: at(50), p95: at(95), p99: at(99) };
}

export const mean = (values: readonly number[]): number => sum(values) / values.length;

function meanOfMeasured(values: readonly number[]): number {
  const measured = values.filter((value) => value > 0);
  return measured.length === 0 ? 0 : mean(measured);
}

function percentileOfSorted(sorted: readonly number[], percent: number): number {
  if (sorted.length === 0) throw new RangeError('there are no values to take a percentile of');
  const rank = (percent / 100) * (sorted.length - 1);
  const below = sorted[Math.floor(rank)]!;
  const above = sorted[Math.ceil(rank)]!;
  return below + (above - below) * (rank - Math.floor(rank));
}

const ascending = (values: readonly number[]) => [...values].sort((a, b) => a - b);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
