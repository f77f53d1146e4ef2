import type { RequestRecord } from './record.ts';
import { type Summary, summarize } from './stats.ts';

/** Limits that a good request keeps, in milliseconds. */
export interface Goodput {
  readonly ttft?: number;
  readonly tpot?: number;
  readonly e2e?: number;
}

export const GOODPUT_SYNTAX = 'a list of ttft:MS, tpot:MS and e2e:MS, such as ttft:200,tpot:20';

/** `ttft:200,tpot:20`; undefined where it is something else. */
export function parseGoodput(text: string): Goodput | undefined {
  const limits: Record<string, number> = {};
  for (const part of text.split(',')) {
    const [, name, ms] = /^(ttft|tpot|e2e):(\d+(?:\.\d+)?)$/.exec(part) ?? [];
    if (name === undefined || name in limits) return undefined;
    limits[name] = Number(ms);
  }
  return limits;
}

/** What a load measured. Rates are a second; times are in milliseconds, undefined where nothing was measured. */
export interface LoadStats {
  readonly completed: number;
  readonly cancelled: number;
  readonly failed: number;
  /** From the first request sent to the last reply ended, over all rounds. */
  readonly durationMs: number;
  /** Of completed requests, as are all figures below. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly requestThroughput: number;
  readonly outputThroughput: number;
  /** Requests a second that keep all limits; only where limits were given. */
  readonly goodput?: number;
  readonly ttft: Summary | undefined;
  readonly tpot: Summary | undefined;
  readonly itl: Summary | undefined;
  readonly e2e: Summary | undefined;
  /** What failed requests said, each message once. */
  readonly errors: readonly string[];
}

/** Of one load, or of the same load run several times. */
export function toLoadStats(rounds: readonly (readonly RequestRecord[])[], limits?: Goodput): LoadStats {
  const records = rounds.flat();
  const completed = records.filter(({ outcome }) => outcome === 'completed');
  const failed = records.filter(({ outcome }) => outcome === 'failed');
  const durationMs = rounds.reduce((sum, round) => sum + duration(round), 0);
  const perSecond = (count: number) => (durationMs > 0 ? (count * 1000) / durationMs : 0);
  const total = (of: (record: RequestRecord) => number) => completed.reduce((sum, record) => sum + of(record), 0);
  const measured = (of: (record: RequestRecord) => number) => summarize(completed.map(of).filter((ms) => ms > 0));
  const outputTokens = total((record) => record.outputTokens);
  return {
    completed: completed.length,
    cancelled: records.length - completed.length - failed.length,
    failed: failed.length,
    durationMs,
    inputTokens: total((record) => record.inputTokens),
    outputTokens,
    requestThroughput: perSecond(completed.length),
    outputThroughput: perSecond(outputTokens),
    ...(limits && { goodput: perSecond(completed.filter((record) => isGood(record, limits)).length) }),
    ttft: measured(({ ttftMs }) => ttftMs),
    tpot: measured(({ tpotMs }) => tpotMs),
    itl: summarize(completed.flatMap(({ itlMs }) => itlMs)),
    e2e: measured(({ e2eMs }) => e2eMs),
    errors: [...new Set(failed.flatMap(({ error }) => error ?? []))],
  };
}

/** A limit on what was not measured is not kept; a reply of one token has no time per further token to exceed. */
function isGood({ ttftMs, tpotMs, e2eMs, outputTokens }: RequestRecord, limits: Goodput): boolean {
  const keeps = (ms: number, limit: number | undefined) => limit === undefined || (ms > 0 && ms <= limit);
  return keeps(ttftMs, limits.ttft) && (outputTokens <= 1 || keeps(tpotMs, limits.tpot)) && keeps(e2eMs, limits.e2e);
}

function duration(round: readonly RequestRecord[]): number {
  let start = Number.POSITIVE_INFINITY;
  let end = 0;
  for (const { sentAt, endedAt } of round) {
    start = Math.min(start, sentAt);
    end = Math.max(end, endedAt);
  }
  return Math.max(0, end - start);
}
