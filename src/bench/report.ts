import type { Ratio } from './compare.ts';
import type { Goodput, LoadStats } from './load-stats.ts';
import { type BenchStats, percentile, type Summary } from './stats.ts';

const RULE = '─'.repeat(54);

/** A label and its value; undefined is a line that is left out. */
type Line = readonly [label: string, value: string] | undefined;

function table(title: string, lines: readonly Line[]): string {
  const shown = lines.filter((line) => line !== undefined);
  const width = Math.max(...shown.map(([label]) => label.length));
  const body = shown.map(([label, value]) => `${label.padEnd(width)} : ${value}`);
  return [RULE, title, RULE, ...body, RULE].map((line) => `  ${line}\n`).join('');
}

/** The table of one engine; what was not measured has no line. */
export function printStats(title: string, stats: BenchStats): string {
  const { reqPerS, tokPerS, wallMs, outputTokens, nRuns, ttftMs, tpotMs, wallTimes } = stats;
  const tails = [50, 95, 99].map((percent) => ms(percentile(wallTimes, percent)));
  return table(title, [
    ['Req/s', reqPerS.toFixed(2)],
    ['Tok/s', tokPerS.toFixed(1)],
    ['Wall time', `${ms(wallMs)} / request`],
    ['p50 / p95 / p99', tails.join(' / ')],
    ttftMs > 0 ? ['TTFT', ms(ttftMs)] : undefined,
    tpotMs > 0 ? ['TPOT', ms(tpotMs)] : undefined,
    ['Tokens out', `${short(outputTokens)} (avg over ${nRuns} runs)`],
  ]);
}

/** The table of one engine under load. */
export function printLoad(title: string, stats: LoadStats, limits?: Goodput): string {
  const { completed, cancelled, failed, durationMs, inputTokens, outputTokens, goodput } = stats;
  const kept = Object.entries(limits ?? {}).map(([name, limit]) => `${name} ≤ ${limit}ms`);
  return table(title, [
    ['Requests', `${completed} completed, ${cancelled} cancelled, ${failed} failed`],
    ['Duration', `${(durationMs / 1000).toFixed(2)}s`],
    ['Req/s', stats.requestThroughput.toFixed(2)],
    goodput === undefined ? undefined : ['Goodput', `${goodput.toFixed(2)} req/s with ${kept.join(', ')}`],
    ['Tok/s', stats.outputThroughput.toFixed(1)],
    ['Tokens', `${inputTokens} in, ${outputTokens} out`],
    ['', ['mean', 'p50', 'p95', 'p99'].map(cell).join('')],
    summary('TTFT (ms)', stats.ttft),
    summary('TPOT (ms)', stats.tpot),
    summary('ITL (ms)', stats.itl),
    summary('End to end (ms)', stats.e2e),
    ...stats.errors.map((error): Line => ['Failed with', error]),
  ]);
}

/** How the second engine compares with the first, figure by figure. */
export function printRatios(a: string, b: string, ratios: Readonly<Record<string, Ratio | undefined>>): string {
  const pairs = Math.max(...Object.values(ratios).map((ratio) => ratio?.pairs ?? 0));
  return table(`${b} ÷ ${a} — median of ${pairs} pairs (quartiles)`, [
    ...Object.entries(ratios).map(([label, ratio]): Line => {
      if (ratio === undefined) return undefined;
      const { median, q1, q3 } = ratio;
      return [label, `${median.toFixed(3)} (${q1.toFixed(3)} … ${q3.toFixed(3)})`];
    }),
  ]);
}

function summary(label: string, values: Summary | undefined): Line {
  if (values === undefined) return undefined;
  const { mean, p50, p95, p99 } = values;
  return [label, [mean, p50, p95, p99].map((value) => cell(value.toFixed(2))).join('')];
}

const cell = (text: string) => text.padStart(10);
/** Three digits are enough to compare by eye. */
const ms = (value: number) => `${value.toFixed(value >= 100 ? 0 : 2)}ms`;
const short = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(1));
