import { expect, it } from 'vitest';
import type { LoadCounts } from './load-clients.ts';
import { riseOverLastHalf } from './memory.ts';
import { described, Forked, soakServer } from './soak.ts';
import { eventually } from './waiting.ts';

const EVENT_STREAMS = 200;
const SOCKET_STREAMS = 200;
const GRACE_MS = 500;
/** What follows the grace period: the last words of 400 streams, and the end of the process. */
const LAST_WORDS_MS = 4000;
const MOST_DELAY_MS = 25;
const MOST_RISE = 0.02;

/**
 * 400 streams at once, over server-sent events and over WebSockets, server and clients in processes of their own: none
 * is lost or mixed up with another, and at SIGTERM each ends with a proper last message.
 */
export function loadTest({ seconds, isMeasured }: { readonly seconds: number; readonly isMeasured: boolean }): void {
  it(
    `${EVENT_STREAMS} event streams and ${SOCKET_STREAMS} WebSocket streams for ${seconds} s, then SIGTERM`,
    async () => {
      const streams = EVENT_STREAMS + SOCKET_STREAMS;
      const options = { maxNumSeqs: 32, maxQueue: 2 * streams };
      const server = await soakServer({ engine: 'paged-attention', options, graceMs: GRACE_MS });
      const args = [server.address, seconds, EVENT_STREAMS, SOCKET_STREAMS].map(String);
      const clients = new Forked('load-clients.ts', args);
      await server.report();
      const { counts } = await clients.next<{ counts: LoadCounts }>();
      const report = await server.report();
      if (isMeasured) console.log(`${counts.completed} completed; ${described(report)}`);
      expect(counts.wrong).toEqual([]);
      expect(counts.completed).toBeGreaterThanOrEqual(streams);
      await eventually(async () =>
        expect((await server.report()).stats).toMatchObject({ running: 0, waiting: 0, blocksUsed: 0 }),
      );

      clients.process.send({});
      await eventually(async () => {
        const { running = 0, waiting = 0 } = (await server.report()).stats ?? {};
        expect(running + waiting).toBe(streams);
      });
      const ended = clients.next<{ counts: LoadCounts }>();
      const { code, ms } = await server.terminate();
      const { last, wrong } = (await ended).counts;
      expect({ last, wrong, code }).toEqual({ last: { abort: streams }, wrong: [], code: 0 });
      expect(ms).toBeLessThan(GRACE_MS + LAST_WORDS_MS);
      expect(await clients.exited).toBe(0);

      if (!isMeasured) return;
      expect(riseOverLastHalf(report.held)).toBeLessThan(MOST_RISE);
      expect(report.delay.p99).toBeLessThan(MOST_DELAY_MS);
    },
    (seconds + 120) * 1000,
  );
}
