import OpenAI from 'openai';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { fakeEngine, type Step, say } from '../../test/support/fake-engine.ts';
import type { GenerateRequest } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { buildServer } from './server.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

function serve(script: (request: GenerateRequest) => Iterable<Step>, options?: Parameters<typeof fakeEngine>[1]) {
  const engine = fakeEngine(script, options);
  const app = buildServer({ engine: () => engine }, { now: () => 1_700_000_000_000 });
  closing.push(() => app.close());
  const post = (body: object, headers: Record<string, string> = {}) =>
    app.inject({ method: 'POST', url: '/v1/chat/completions', payload: body, headers });
  const listen = () => app.listen({ port: 0, host: '127.0.0.1' });
  return { engine, app, post, listen };
}

const messages = [{ role: 'user', content: 'hi' }];
const events = (payload: string) =>
  payload
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => event.replace('data: ', ''));
const chunks = (payload: string) =>
  events(payload)
    .filter((event) => event !== '[DONE]')
    .map((event) => JSON.parse(event));

describe('JSON', () => {
  it('answers in the shape of OpenAI, with metrics', async () => {
    const { post, engine } = serve(() => say(['Hel', 'lo']));
    const reply = await post({ model: 'fake-model', messages }, { 'x-request-id': 'abc' });
    expect(reply.statusCode).toBe(200);
    expect(reply.headers['x-request-id']).toBe('abc');
    expect(reply.json()).toEqual({
      id: 'chatcmpl-abc',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'fake-model',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, prompt_tokens_details: { cached_tokens: 0 } },
      metrics: { throughput: 12.3, input_tokens: 3, output_tokens: 2, ttft_ms: 5.13 },
    });
    expect(engine.requests[0]?.prompt).toEqual(messages);
    expect(engine.cancelled).toBe(0);
  });

  it('merges n choices, counting the seed up and the prompt once', async () => {
    const { post, engine } = serve(({ params }) => say([`seed ${params?.seed}`, '!']));
    const reply = (await post({ messages, n: 3, seed: 7 })).json();
    expect(reply.choices.map((choice: { index: number }) => choice.index)).toEqual([0, 1, 2]);
    expect(reply.choices.map((choice: { message: { content: string } }) => choice.message.content)).toEqual([
      'seed 7!',
      'seed 8!',
      'seed 9!',
    ]);
    expect(reply.usage).toEqual({
      prompt_tokens: 3,
      completion_tokens: 6,
      total_tokens: 9,
      prompt_tokens_details: { cached_tokens: 0 },
    });
    expect(reply.metrics).toMatchObject({ input_tokens: 3, output_tokens: 6, throughput: 37 });
    expect(engine.requests.map(({ id, forkOf }) => ({ id, forkOf }))).toEqual([
      { id: 'request', forkOf: undefined },
      { id: undefined, forkOf: 'request' },
      { id: undefined, forkOf: 'request' },
    ]);
    expect(engine.requests).toHaveLength(3);
  });

  it('writes logprobs as finite numbers', async () => {
    const logprobs = [
      {
        id: 72,
        logprob: -0.25,
        top: [
          { id: 72, logprob: -0.25 },
          { id: 0xe9, logprob: Number.NEGATIVE_INFINITY },
        ],
      },
    ];
    const { post, engine } = serve(() => say(['H'], { logprobs }));
    const reply = (await post({ messages, logprobs: true, top_logprobs: 2 })).json();
    expect(engine.requests[0]?.params?.logprobs).toBe(2);
    expect(reply.choices[0].logprobs.content).toEqual([
      {
        token: 'H',
        logprob: -0.25,
        bytes: [72],
        top_logprobs: [
          { token: 'H', logprob: -0.25, bytes: [72] },
          { token: 'é', logprob: -9999, bytes: [0xc3, 0xa9] },
        ],
      },
    ]);
  });

  it('joins text parts and takes an assistant turn without content', async () => {
    const { post, engine } = serve(() => say(['ok']));
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ];
    const reply = await post({
      messages: [
        { role: 'assistant', content: null },
        { role: 'user', content: parts },
      ],
    });
    expect(reply.statusCode).toBe(200);
    expect(engine.requests[0]?.prompt).toEqual([
      { role: 'assistant', content: null },
      { role: 'user', content: 'ab' },
    ]);
  });

  it('gives an engine error its status', async () => {
    const full = new RxllmError('RXLLM_QUEUE_FULL', '16 requests are waiting already; try again later.');
    const { post } = serve(() => [{ type: 'fail', error: full }]);
    const reply = await post({ messages });
    expect(reply.statusCode).toBe(429);
    expect(reply.headers['retry-after']).toBe('1');
    expect(reply.json()).toEqual({
      error: { message: full.message, type: 'rate_limit_error', param: null, code: 'RXLLM_QUEUE_FULL' },
    });
  });

  it('keeps the message of an unknown error to itself', async () => {
    const { post } = serve(() => [{ type: 'fail', error: new Error('cannot read some/secret/path') }]);
    const reply = await post({ messages });
    expect(reply.statusCode).toBe(500);
    expect(reply.json().error).toEqual({
      message: expect.stringMatching(/^The server failed while handling this request; .* request id [\w-]+\.$/),
      type: 'server_error',
      param: null,
      code: 'internal_error',
    });
  });

  it('cancels when the client goes away', async () => {
    const { engine, listen } = serve(() => [{ type: 'queued', position: 0 }, { type: 'hang' }]);
    const address = await listen();
    const controller = new AbortController();
    const pending = fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages, n: 2 }),
      signal: controller.signal,
    });
    await vi.waitFor(() => expect(engine.active).toBe(2));
    controller.abort();
    await expect(pending).rejects.toThrow();
    await vi.waitFor(() => expect(engine.cancelled).toBe(2));
    expect(engine.active).toBe(0);
  });
});

describe('SSE', () => {
  it('opens with the role, closes with the reason and [DONE], and has no usage unless asked', async () => {
    const { post } = serve(() => say(['Hel', '', 'lo'], { reason: 'length' }));
    const reply = await post({ messages, stream: true }, { 'x-request-id': 'abc' });
    expect(reply.statusCode).toBe(200);
    expect(reply.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(reply.headers['x-request-id']).toBe('abc');
    expect(events(reply.payload).at(-1)).toBe('[DONE]');
    const frame = {
      id: 'chatcmpl-abc',
      object: 'chat.completion.chunk',
      created: 1_700_000_000,
      model: 'fake-model',
    };
    const choice = (delta: object, reason: string | null = null) => ({
      ...frame,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
    });
    expect(chunks(reply.payload)).toEqual([
      choice({ role: 'assistant', content: '' }),
      choice({ content: 'Hel' }),
      choice({ content: 'lo' }),
      {
        ...choice({}, 'length'),
        metrics: { throughput: 12.3, input_tokens: 3, output_tokens: 3, ttft_ms: 5.13 },
      },
    ]);
  });

  it('sends the text of an engine that gives only its result', async () => {
    const { post } = serve(() => say(['Hel', 'lo']).filter(({ type }) => type === 'queued' || type === 'finished'));
    const reply = await post({ messages, stream: true });
    const deltas = chunks(reply.payload).map(({ choices }) => choices[0].delta);
    expect(deltas).toEqual([{ role: 'assistant', content: '' }, { content: 'Hello' }, {}]);
  });

  it('sends one usage chunk, with the totals of the JSON reply, when asked', async () => {
    const { post } = serve(() => say(['Hel', 'lo']));
    const whole = (await post({ messages })).json();
    const sent = chunks((await post({ messages, stream: true, stream_options: { include_usage: true } })).payload);
    expect(sent.filter((chunk) => 'usage' in chunk)).toHaveLength(1);
    expect(sent.at(-1)).toMatchObject({ choices: [], usage: whole.usage, metrics: whole.metrics });
    expect(sent.filter((chunk) => 'metrics' in chunk)).toHaveLength(1);
  });

  it('merges n choices', async () => {
    const { post } = serve(({ params }) => say(['a', `${params?.seed}`]));
    const sent = chunks((await post({ messages, stream: true, n: 2, seed: 4 })).payload);
    const of = (index: number) => sent.flatMap((chunk) => chunk.choices).filter((choice) => choice.index === index);
    for (const index of [0, 1]) {
      expect(of(index)[0].delta.role).toBe('assistant');
      expect(
        of(index)
          .map((choice) => choice.delta.content ?? '')
          .join(''),
      ).toBe(`a${4 + index}`);
      expect(of(index).filter((choice) => choice.finish_reason !== null)).toHaveLength(1);
    }
    expect(sent.filter((chunk) => 'metrics' in chunk)).toEqual([sent.at(-1)]);
  });

  it('gives an error before the first token its HTTP status', async () => {
    const long = new RxllmError('RXLLM_CONTEXT_LENGTH_EXCEEDED', 'prompt: too long', { param: 'prompt' });
    const { post } = serve(() => [
      { type: 'queued', position: 0 },
      { type: 'fail', error: long },
    ]);
    const reply = await post({ messages, stream: true });
    expect(reply.statusCode).toBe(400);
    expect(reply.json().error).toMatchObject({
      message: 'messages: too long',
      param: 'messages',
      code: 'RXLLM_CONTEXT_LENGTH_EXCEEDED',
    });
  });

  it('turns an error after the headers into one last event, and lives on', async () => {
    let calls = 0;
    const { post } = serve(() => {
      calls += 1;
      return calls > 1 ? say(['fine']) : [...say(['a', 'b']).slice(0, -1), { type: 'fail', error: new Error('boom') }];
    });
    const broken = await post({ messages, stream: true });
    const sent = events(broken.payload);
    expect(sent.filter((event) => event.includes('"error"'))).toEqual([sent.at(-1)]);
    expect(JSON.parse(sent.at(-1)!).error.type).toBe('server_error');
    expect((await post({ messages })).json().choices[0].message.content).toBe('fine');
  });

  it('cancels when the client goes away after a token', async () => {
    const { engine, listen } = serve(() => [...say(['a', 'b', 'c']).slice(0, -1), { type: 'hang' }]);
    const address = await listen();
    const controller = new AbortController();
    const reply = await fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages, stream: true }),
      signal: controller.signal,
    });
    await reply.body!.getReader().read();
    expect(engine.active).toBe(1);
    controller.abort();
    await vi.waitFor(() => expect(engine.cancelled).toBe(1));
  });

  it('cancels a request that still waits when its client goes away', async () => {
    const { engine, listen } = serve(() => [{ type: 'queued', position: 3 }, { type: 'hang' }]);
    const address = await listen();
    const controller = new AbortController();
    const pending = fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages, stream: true }),
      signal: controller.signal,
    });
    await vi.waitFor(() => expect(engine.active).toBe(1));
    controller.abort();
    await expect(pending).rejects.toThrow();
    await vi.waitFor(() => expect(engine.cancelled).toBe(1));
  });

  it('holds the engine back while the client does not read, and goes on when it does', async () => {
    const piece = 'x'.repeat(16_384);
    const count = 1000;
    const { engine, listen } = serve(() => say(Array.from({ length: count }, () => piece)));
    const address = await listen();
    const reply = await fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages, stream: true }),
    });
    const settled = async () => {
      let before = -1;
      while (engine.tokens !== before) {
        before = engine.tokens;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    await settled();
    expect(engine.tokens).toBeLessThan(count);
    const text = await reply.text();
    expect(engine.tokens).toBe(count);
    expect(chunks(text).filter((chunk) => chunk.choices[0].delta.content === piece)).toHaveLength(count);
  });
});

describe('the official client', () => {
  async function client(script: (request: GenerateRequest) => Iterable<Step>) {
    const { listen } = serve(script);
    return new OpenAI({ baseURL: `${await listen()}/v1`, apiKey: 'none', maxRetries: 0 });
  }
  const ask = { model: 'fake-model', messages: [{ role: 'user' as const, content: 'hi' }] };

  it('reads the JSON reply', async () => {
    const openai = await client(() => say(['Hel', 'lo']));
    const reply = await openai.chat.completions.create(ask);
    expect(reply.choices[0]?.message.content).toBe('Hello');
    expect(reply.usage?.total_tokens).toBe(5);
    expect((await openai.models.list()).data.map((model) => model.id)).toEqual(['fake-model']);
    expect((await openai.models.retrieve('fake-model')).id).toBe('fake-model');
  });

  it('assembles the stream', async () => {
    const openai = await client(() => say(['Hel', 'lo']));
    const runner = openai.chat.completions.stream({ ...ask, stream_options: { include_usage: true } });
    let text = '';
    runner.on('content', (delta) => {
      text += delta;
    });
    const final = await runner.finalChatCompletion();
    expect(text).toBe('Hello');
    expect(final.choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } });
    expect(final.usage?.completion_tokens).toBe(2);
  });

  it('throws what the stream ended with', async () => {
    const openai = await client(() => [...say(['a']).slice(0, -1), { type: 'fail', error: new Error('boom') }]);
    const stream = await openai.chat.completions.create({ ...ask, stream: true });
    const read = async () => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toThrow('The server failed');
  });

  it('throws its own error classes', async () => {
    const openai = await client(() => say(['a']));
    await expect(openai.chat.completions.create({ ...ask, model: 'gpt-4' })).rejects.toBeInstanceOf(
      OpenAI.NotFoundError,
    );
    await expect(openai.chat.completions.create({ ...ask, temperature: 3 })).rejects.toMatchObject({
      status: 400,
      param: 'temperature',
    });
  });
});
