import { once } from 'node:events';
import { connect } from 'node:net';
import fc, { type Arbitrary } from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { pagedBlocks } from '../../src/core/memory/paged-blocks.ts';
import { continuousBatching } from '../../src/core/scheduling/continuous-batching.ts';
import { schedule } from '../../src/operators/schedule.ts';
import {
  cancelMessage,
  chatCompletionRequest,
  completionRequest,
  detokenizeRequest,
  generateFromMessages,
  generateFromPrompt,
  tokenizeRequest,
} from '../../src/transport/openai/schemas.ts';
import { byteTokens } from './byte-tokens.ts';
import { expectIdle, serveScript } from './real-server.ts';
import { valueFor } from './schema-values.ts';

/** A server that has not answered for so long hangs. */
const HANG_MS = 10_000;
const TICK_MS = 100;
const [A] = byteTokens('a');
const fewTokens = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom(0, -1, 1.5, null, '3'));

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

const model = fc.oneof({ weight: 9, arbitrary: fc.constant('storyteller-12m') }, { weight: 1, arbitrary: fc.string() });
const prompt = fc.oneof(fc.constant('a b'), fc.constant([5, 6]), valueFor(completionRequest.properties.prompt));
const generation = (schema: { readonly properties: object }) =>
  valueFor(schema, { max_tokens: fewTokens, model, ...('prompt' in schema.properties && { prompt }) });
const requests = fc.oneof(
  pathWith('/v1/completions', generation(completionRequest)),
  pathWith('/v1/chat/completions', generation(chatCompletionRequest)),
  pathWith('/tokenize', valueFor(tokenizeRequest)),
  pathWith('/detokenize', valueFor(detokenizeRequest)),
);
const messages = fc.oneof(generation(generateFromPrompt), generation(generateFromMessages), valueFor(cancelMessage));

function pathWith(
  path: string,
  body: Arbitrary<unknown>,
): Arbitrary<{ readonly path: string; readonly body: unknown }> {
  return body.map((body) => ({ path, body }));
}

const body = '{"prompt":[5,6],"max_tokens":2}';
const head = 'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const valid = Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const line = fc.constantFrom(
  'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n',
  'GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'PUT /v1/completions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n',
  'Content-Length: 99999999999\r\n\r\n',
  `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  '5\r\nabcde\r\n',
  '0\r\n\r\n',
  'ffffffffffffffff\r\n',
);

/** A request of which some bytes are others, are missing, or come twice. */
const mutated = fc
  .array(fc.tuple(fc.nat(valid.length), fc.constantFrom('flip', 'cut', 'twice'), fc.nat(255)), { maxLength: 4 })
  .map((changes) =>
    changes.reduce((request, [at, change, byte]) => {
      const [head, tail] = [request.subarray(0, at), request.subarray(at)];
      if (change === 'cut') return Buffer.concat([head, tail.subarray(1 + (byte % 16))]);
      if (change === 'twice') return Buffer.concat([request, tail]);
      return Buffer.concat([head, Buffer.from([byte]), tail.subarray(1)]);
    }, valid),
  );
const rawRequests = fc.array(
  fc.oneof(
    mutated,
    line.map((text) => Buffer.from(text)),
    bytes,
  ),
  { minLength: 1, maxLength: 4 },
);
const rawMessages = fc.record({
  frames: fc.array(fc.oneof(bytes, fc.string({ unit: 'binary' })), { maxLength: 4 }),
  bytes,
});

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
