import { expect, it } from 'vitest';
import { toLoadStats } from './load-stats.ts';
import { printLoad, printRatios, printStats } from './report.ts';
import { toBenchStats } from './stats.ts';

const RULE = '─'.repeat(54);

it('prints the table, without what was not measured', () => {
  const run = { wallMs: 1224, outputTokens: 39, ttftMs: 0, tpotMs: 0 };
  expect(printStats('baseline — offline (in process)', toBenchStats([run, run]))).toBe(
    `  ${RULE}
  baseline — offline (in process)
  ${RULE}
  Req/s           : 0.82
  Tok/s           : 31.9
  Wall time       : 1224ms / request
  p50 / p95 / p99 : 1224ms / 1224ms / 1224ms
  Tokens out      : 39 (avg over 2 runs)
  ${RULE}
`,
  );
  const measured = printStats('x', toBenchStats([{ ...run, outputTokens: 38.5, ttftMs: 12.345, tpotMs: 5 }]));
  expect(measured).toContain('  TTFT            : 12.35ms\n  TPOT            : 5.00ms\n');
  expect(measured).toContain('  Tokens out      : 38.5 (avg over 1 runs)\n');
});

it('prints a load', () => {
  const record = {
    outcome: 'completed',
    sentAt: 0,
    endedAt: 500,
    inputTokens: 10,
    outputTokens: 4,
    ttftMs: 100,
    tpotMs: 20,
    itlMs: [],
    e2eMs: 500,
  } as const;
  const records = [record, record, { ...record, outcome: 'failed', error: 'HTTP 429: full' } as const];
  const limits = { ttft: 200, tpot: 20 };
  expect(printLoad('kv-cache — online (HTTP), 3 requests', toLoadStats([records], limits), limits)).toBe(
    `  ${RULE}
  kv-cache — online (HTTP), 3 requests
  ${RULE}
  Requests        : 2 completed, 0 cancelled, 1 failed
  Duration        : 0.50s
  Req/s           : 4.00
  Goodput         : 4.00 req/s with ttft ≤ 200ms, tpot ≤ 20ms
  Tok/s           : 16.0
  Tokens          : 20 in, 8 out
                  :       mean       p50       p95       p99
  TTFT (ms)       :     100.00    100.00    100.00    100.00
  TPOT (ms)       :      20.00     20.00     20.00     20.00
  End to end (ms) :     500.00    500.00    500.00    500.00
  Failed with     : HTTP 429: full
  ${RULE}
`,
  );
});

it('prints ratios', () => {
  const ratio = { median: 1.5, q1: 1.25, q3: 2, pairs: 7 };
  expect(printRatios('a', 'b', { 'Tok/s': ratio, TTFT: undefined })).toBe(
    `  ${RULE}
  b ÷ a — median of 7 pairs (quartiles)
  ${RULE}
  Tok/s : 1.500 (1.250 … 2.000)
  ${RULE}
`,
  );
});
