import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { riseOverLastHalf } from './support/memory.ts';
import { described, soakServer } from './support/soak.ts';
import type { SoakCounts } from './support/soak-clients.ts';
import { eventually } from './support/waiting.ts';

/** `RXLLM_SOAK_SECONDS` shortens it. */
const SECONDS = Number(process.env['RXLLM_SOAK_SECONDS'] ?? 180);
const STREAMS = 256;
const CLIENTS = fileURLToPath(new URL('support/soak-clients.ts', import.meta.url));
const MOST_DELAY_MS = 20;
const MOST_RISE = 0.02;
/** Room for 12 of the longest of 32 sequences, so that some are preempted. */
const BLOCKS = 121;

it(
  `${STREAMS} concurrent streams for ${SECONDS} s, a third dropped: nothing leaks, nothing is stuck, the loop stays free`,
  async () => {
    const options = { maxNumSeqs: 32, maxQueue: 2 * STREAMS };
    const server = await soakServer({ engine: 'paged-attention', options, blocks: BLOCKS, graceMs: 1000 });
    const args = ['--import', 'tsx', CLIENTS, server.address, String(SECONDS), String(STREAMS)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const counts = JSON.parse(stdout) as SoakCounts;
    const report = await server.report();
    console.log(
      `${counts.completed} completed, ${counts.dropped} dropped, ${counts.tokens} tokens; ${described(report)}`,
    );
    expect(counts).toMatchObject({ failures: [], stuck: 0 });
    expect(counts.completed).toBeGreaterThan(STREAMS);
    expect(counts.dropped).toBeGreaterThan(STREAMS / 4);
    const idle = { running: 0, waiting: 0, paused: 0, blocksUsed: 0 };
    await eventually(async () => expect((await server.report()).stats).toMatchObject(idle));
    expect(await server.terminate()).toMatchObject({ code: 0, left: { sessions: 0, bindings: 0, tensors: 0 } });
    expect(riseOverLastHalf(report.held)).toBeLessThan(MOST_RISE);
    expect(report.delay.p99).toBeLessThan(MOST_DELAY_MS);
  },
  (SECONDS + 200) * 1000,
);
