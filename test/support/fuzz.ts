import { once } from 'node:events';
import { connect } from 'node:net';
import fc, { type Arbitrary } from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { pagedBlocks } from '../../src/core/memory/paged-blocks.ts';
import { continuousBatching } from '../../src/core/scheduling/continuous-batching.ts';
import { schedule } from '../../src/operators/schedule.ts';
import { byteTokens } from './byte-tokens.ts';
import { messages, rawMessages, rawRequests, requests } from './fuzz-requests.ts';
import { expectIdle, serveScript } from './real-server.ts';

/** A server that has not answered for so long hangs. */
const HANG_MS = 10_000;
const TICK_MS = 100;
const [A] = byteTokens('a');

/**
 * Requests that no client would send, over the schemas and over raw bytes: each is answered with 2xx, 4xx or 503, the
 * next one is served, and in the end nothing runs and nothing is held.
 */
export function fuzz({ cases, seed }: { readonly cases: number; readonly seed: number }): void {
  describe(`${cases} cases of each kind, seed ${seed}`, async () => {
    const server = await serveScript(
      { next: () => A! },
      {
        options: { maxModelLen: 48, maxNumSeqs: 4 },
        schedule: schedule(continuousBatching()),
        kv: pagedBlocks({ blocks: 24, blockSize: 4 }),
      },
    );
    afterAll(() => server.close());
    const { port, hostname } = new URL(server.address);
    const check = <T>(value: Arbitrary<T>, property: (value: T) => Promise<void>) =>
      fc.assert(
        fc.asyncProperty(value, async (value) => {
          await inTime(property(value));
          await inTime(expectServed());
        }),
        { numRuns: cases, seed },
      );
    const expectServed = async () => {
      const { status } = await server.post('/v1/completions', { prompt: [5, 6], max_tokens: 1 });
      expect(status).toBe(200);
    };

    it('HTTP, by the schemas', { timeout: 900_000 }, async () => {
      await check(requests, async ({ path, body }) => {
        const reply = await server.fetch(path, body as object);
        const text = await reply.text();
        expectAllowed(reply.status, text);
      });
      await expectIdle(server);
    });

    it('HTTP, raw bytes', { timeout: 900_000 }, async () => {
      await check(rawRequests, async (pieces) => {
        const received = await exchange(Number(port), hostname, pieces);
        for (const [, status] of received.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)) expectAllowed(Number(status), received);
      });
      await expectIdle(server);
    });

    it('WebSocket, by the schemas', { timeout: 900_000 }, async () => {
      const socket = await server.socket();
      let count = 0;
      await check(messages, async (message) => {
        socket.received.length = 0;
        socket.send(JSON.stringify(message) ?? 'undefined');
        const id = `probe ${count++}`;
        socket.send({ type: 'generate', id, prompt: [5], max_tokens: 1 });
        expect(await socket.end(id)).toMatchObject({ type: 'finished' });
        for (const { code = '' } of socket.received) expect(code).not.toMatch(/internal|RUNTIME_FAILED/);
      });
      await socket.close();
      await expectIdle(server);
    });

    it('WebSocket, raw bytes', { timeout: 900_000 }, async () => {
      await check(rawMessages, async ({ frames, bytes }) => {
        const client = new WebSocket(`${server.address.replace('http', 'ws')}/v1/stream`);
        client.on('error', () => {});
        const closed = once(client, 'close');
        client.on('message', (data) => expect(String(data)).not.toMatch(/internal_error|RUNTIME_FAILED/));
        await once(client, 'open');
        for (const frame of frames) client.send(frame);
        // Past the library, which would only send frames that are right.
        const raw = (client as unknown as { readonly _socket: import('node:net').Socket })._socket;
        if (bytes.length > 0) raw.write(bytes);
        client.close();
        raw.end();
        await closed;
      });
      await expectIdle(server);
    });
  });
}

function expectAllowed(status: number, text: string): void {
  const isAllowed = (status >= 100 && status < 300) || (status >= 400 && status < 500) || status === 503;
  expect(isAllowed, `${status}: ${text.slice(0, 500)}`).toBe(true);
  expect(text).not.toMatch(/internal_error|RUNTIME_FAILED|\n {4}at |node_modules/);
}

/** All that the server says to these bytes until it closes the connection. */
async function exchange(port: number, host: string, pieces: readonly Buffer[]): Promise<string> {
  const socket = connect(port, host);
  let received = '';
  socket.setEncoding('latin1').on('data', (data: string) => (received += data));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {});
  for (const piece of pieces) socket.write(piece);
  socket.end();
  await closed;
  return received;
}

/** Counted in ticks of this process, so that a machine that stands still does not count. */
async function inTime<T>(promise: Promise<T>): Promise<T> {
  let ticks = 0;
  let ticking: NodeJS.Timeout | undefined;
  const hang = new Promise<never>((_, reject) => {
    ticking = setInterval(() => {
      ticks += 1;
      if (ticks * TICK_MS >= HANG_MS) reject(new Error(`no answer within ${HANG_MS} ms`));
    }, TICK_MS);
  });
  return Promise.race([promise, hang]).finally(() => clearInterval(ticking));
}
