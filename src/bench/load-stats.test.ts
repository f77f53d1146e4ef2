import { describe, expect, it } from 'vitest';
import { parseGoodput, toLoadStats } from './load-stats.ts';
import type { RequestRecord } from './record.ts';
import { summarize } from './stats.ts';

const completed = (parts: Partial<RequestRecord> = {}): RequestRecord => ({
  outcome: 'completed',
  sentAt: 0,
  endedAt: 500,
  inputTokens: 10,
  outputTokens: 4,
  ttftMs: 100,
  tpotMs: 20,
  itlMs: [10, 20, 30],
  e2eMs: 500,
  ...parts,
});
const failed = completed({ outcome: 'failed', error: 'full', outputTokens: 0, ttftMs: 0, tpotMs: 0, itlMs: [] });
const same = (ms: number) => ({ mean: ms, p50: ms, p95: ms, p99: ms });

describe('toLoadStats', () => {
  it('takes figures from what was completed, over the time of all', () => {
    const records = [
      completed(),
      completed({ sentAt: 100, endedAt: 2000, itlMs: [20] }),
      completed({ outcome: 'cancelled', outputTokens: 3 }),
      failed,
      failed,
    ];
    expect(toLoadStats([records])).toEqual({
      completed: 2,
      cancelled: 1,
      failed: 2,
      durationMs: 2000,
      inputTokens: 20,
      outputTokens: 8,
      requestThroughput: 1,
      outputThroughput: 4,
      ttft: same(100),
      tpot: same(20),
      itl: summarize([10, 20, 30, 20]),
      e2e: same(500),
      errors: ['full'],
    });
  });

  it('counts as good what keeps every limit', () => {
    const records = [
      completed(),
      completed({ ttftMs: 201 }),
      completed({ tpotMs: 21 }),
      completed({ ttftMs: 0 }),
      completed({ outputTokens: 1, tpotMs: 0 }),
      failed,
    ];
    const goodput = (limits: Parameters<typeof toLoadStats>[1]) => toLoadStats([records], limits).goodput;
    // Over half a second.
    expect(goodput({ ttft: 200, tpot: 20 })).toBe(4);
    expect(goodput({ ttft: 200 })).toBe(6);
    expect(goodput({ e2e: 499.9 })).toBe(0);
    expect(goodput({})).toBe(10);
  });

  it('takes rounds together, without the time between them', () => {
    const later = completed({ sentAt: 10_000, endedAt: 10_500, ttftMs: 300 });
    expect(toLoadStats([[completed()], [later]])).toMatchObject({
      completed: 2,
      durationMs: 1000,
      requestThroughput: 2,
      outputThroughput: 8,
      ttft: { mean: 200 },
    });
  });

  it('has no times where nothing was completed', () => {
    expect(toLoadStats([[failed]])).toMatchObject({
      completed: 0,
      requestThroughput: 0,
      ttft: undefined,
      e2e: undefined,
    });
  });
});

describe('parseGoodput', () => {
  it.each([
    ['ttft:200,tpot:20', { ttft: 200, tpot: 20 }],
    ['e2e:1.5', { e2e: 1.5 }],
  ])('%s', (text, limits) => expect(parseGoodput(text)).toEqual(limits));

  it.each(['', 'ttft', 'ttft:', 'itl:3', 'ttft:1,ttft:2', 'ttft:-1', 'ttft:1,'])('refuses "%s"', (text) => {
    expect(parseGoodput(text)).toBeUndefined();
  });
});
