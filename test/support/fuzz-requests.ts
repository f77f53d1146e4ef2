import fc, { type Arbitrary } from 'fast-check';
import {
  cancelMessage,
  chatCompletionRequest,
  completionRequest,
  detokenizeRequest,
  generateFromMessages,
  generateFromPrompt,
  tokenizeRequest,
} from '../../src/transport/openai/schemas.ts';
import { valueFor } from './schema-values.ts';

const fewTokens = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom(0, -1, 1.5, null, '3'));
const model = fc.oneof({ weight: 9, arbitrary: fc.constant('storyteller-12m') }, { weight: 1, arbitrary: fc.string() });
const prompt = fc.oneof(fc.constant('a b'), fc.constant([5, 6]), valueFor(completionRequest.properties.prompt));
const generation = (schema: { readonly properties: object }) =>
  valueFor(schema, { max_tokens: fewTokens, model, ...('prompt' in schema.properties && { prompt }) });
/** By the schemas, over HTTP. */
export const requests = fc.oneof(
  pathWith('/v1/completions', generation(completionRequest)),
  pathWith('/v1/chat/completions', generation(chatCompletionRequest)),
  pathWith('/tokenize', valueFor(tokenizeRequest)),
  pathWith('/detokenize', valueFor(detokenizeRequest)),
);
/** By the schemas, over a WebSocket. */
export const messages = fc.oneof(
  generation(generateFromPrompt),
  generation(generateFromMessages),
  valueFor(cancelMessage),
);

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
/** What is written to a connection, piece by piece. */
export const rawRequests = fc.array(
  fc.oneof(
    mutated,
    line.map((text) => Buffer.from(text)),
    bytes,
  ),
  { minLength: 1, maxLength: 4 },
);
/** Frames that are sent, and bytes that are written behind them past all framing. */
export const rawMessages = fc.record({
  frames: fc.array(fc.oneof(bytes, fc.string({ unit: 'binary' })), { maxLength: 4 }),
  bytes,
});
