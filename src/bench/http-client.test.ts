import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { lastValueFrom, take, toArray } from 'rxjs';
import { afterEach, expect, it } from 'vitest';
import type { Prompt } from '../core/contracts/index.ts';
import { type HttpClientOptions, httpClient } from './http-client.ts';

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

const params = { maxTokens: 3, temperature: 0, ignoreEos: true };

/** A server that answers with the events given; `seen` is what was asked. */
async function serving(
  answer: (response: ServerResponse, request: IncomingMessage) => void,
  options?: HttpClientOptions,
) {
  const seen: { url: string | undefined; body: unknown }[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      seen.push({ url: request.url, body: JSON.parse(text) });
      answer(response, request);
    });
  });
  stops.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = httpClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, options);
  const send = (prompt: Prompt = 'abc') => lastValueFrom(client.send({ prompt, params }).pipe(toArray()));
  return { client, send, seen };
}

const events = (...values: readonly unknown[]) => values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('');
const DONE = 'data: [DONE]\n\n';
const usage = { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } };

it('posts text to completions, and counts as the server does', async () => {
  const { send, seen } = await serving((response) => {
    const text = (text: string, reason: string | null = null) => ({ choices: [{ text, finish_reason: reason }] });
    response.end(events(text('d'), text(''), text('e'), text('', 'length'), usage) + DONE);
  });
  const got = await send();
  expect(got.map(({ type }) => type)).toEqual(['piece', 'piece', 'finished']);
  expect(got.at(-1)).toMatchObject({ inputTokens: 3, outputTokens: 2, finishReason: 'length' });
  const body = {
    prompt: 'abc',
    max_tokens: 3,
    temperature: 0,
    ignore_eos: true,
    stream: true,
    stream_options: { include_usage: true },
  };
  expect(seen).toEqual([{ url: '/v1/completions', body }]);
});

it('posts messages to chat completions, and token ids to completions', async () => {
  const { send, seen } = await serving((response) => {
    const delta = (content: string | null, reason: string | null = null) => ({
      choices: [{ delta: { content }, finish_reason: reason }],
    });
    response.end(events(delta(''), delta('d'), delta(null, 'stop'), usage) + DONE);
  });
  const got = await send([{ role: 'user', content: 'hi' }]);
  await send([3, 4]);
  expect(got.map(({ type }) => type)).toEqual(['piece', 'finished']);
  expect(seen).toMatchObject([
    { url: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'hi' }] } },
    { url: '/v1/completions', body: { prompt: [3, 4] } },
  ]);
});

it.each([
  [429, '{"error":{"message":"The queue is full."}}', 'HTTP 429: The queue is full.'],
  [502, '<html>', 'HTTP 502: <html>'],
  [200, events({ error: { message: 'A forward pass failed.' } }), 'A forward pass failed.'],
  [200, DONE, 'the reply ended without finish_reason or usage'],
])('errors with what the server says: %d %s', async (status, reply, message) => {
  const { send } = await serving((response) => response.writeHead(status).end(reply));
  await expect(send()).rejects.toThrow(message);
});

it('errors when the connection breaks', async () => {
  const { send } = await serving((response) => {
    response.write(events({ choices: [{ text: 'd' }] }));
    setImmediate(() => response.destroy());
  });
  await expect(send()).rejects.toThrow('aborted');
});

it('closes the connection when it is unsubscribed from', async () => {
  let gone: () => void;
  const closed = new Promise<void>((resolve) => {
    gone = resolve;
  });
  const { client } = await serving((response) => {
    response.on('close', () => gone());
    response.write(events({ choices: [{ text: 'd' }] }));
  });
  await lastValueFrom(client.send({ prompt: 'abc', params }).pipe(take(1)));
  await closed;
});

it('asks for a whole reply, which comes in one piece', async () => {
  const { send, seen } = await serving(
    (response) =>
      response.end(JSON.stringify({ choices: [{ text: 'de', finish_reason: 'length' }], usage: usage.usage })),
    { stream: false },
  );
  const got = await send();
  expect(got.map(({ type }) => type)).toEqual(['piece', 'finished']);
  expect(got.at(-1)).toMatchObject({ inputTokens: 3, outputTokens: 2, finishReason: 'length' });
  const body = { prompt: 'abc', max_tokens: 3, temperature: 0, ignore_eos: true };
  expect(seen).toEqual([{ url: '/v1/completions', body }]);
});
