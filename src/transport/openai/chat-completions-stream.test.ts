import { describe, expect, it } from 'vitest';
import { chunks, events, messages, serveChat } from '../../../test/support/chat-server.ts';
import { say } from '../../../test/support/fake-engine.ts';
import { eventually } from '../../../test/support/waiting.ts';
import { RxllmError } from '../../core/errors.ts';

describe('SSE', () => {
  it('opens with the role, closes with the reason and [DONE], and has no usage unless asked', async () => {
    const { post } = serveChat(() => say(['Hel', '', 'lo'], { reason: 'length' }));
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
    const { post } = serveChat(() => say(['Hel', 'lo']).filter(({ type }) => type === 'queued' || type === 'finished'));
    const reply = await post({ messages, stream: true });
    const deltas = chunks(reply.payload).map(({ choices }) => choices[0].delta);
    expect(deltas).toEqual([{ role: 'assistant', content: '' }, { content: 'Hello' }, {}]);
  });

  it('sends one usage chunk, with the totals of the JSON reply, when asked', async () => {
    const { post } = serveChat(() => say(['Hel', 'lo']));
    const whole = (await post({ messages })).json();
    const sent = chunks((await post({ messages, stream: true, stream_options: { include_usage: true } })).payload);
    expect(sent.filter((chunk) => 'usage' in chunk)).toHaveLength(1);
    expect(sent.at(-1)).toMatchObject({ choices: [], usage: whole.usage, metrics: whole.metrics });
    expect(sent.filter((chunk) => 'metrics' in chunk)).toHaveLength(1);
  });

  it('merges n choices', async () => {
    const { post } = serveChat(({ params }) => say(['a', `${params?.seed}`]));
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
    const { post } = serveChat(() => [
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
    const { post } = serveChat(() => {
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
    const { engine, listen } = serveChat(() => [...say(['a', 'b', 'c']).slice(0, -1), { type: 'hang' }]);
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
    await eventually(() => expect(engine.cancelled).toBe(1));
  });

  it('cancels a request that still waits when its client goes away', async () => {
    const { engine, listen } = serveChat(() => [{ type: 'queued', position: 3 }, { type: 'hang' }]);
    const address = await listen();
    const controller = new AbortController();
    const pending = fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages, stream: true }),
      signal: controller.signal,
    });
    await eventually(() => expect(engine.active).toBe(1));
    controller.abort();
    await expect(pending).rejects.toThrow();
    await eventually(() => expect(engine.cancelled).toBe(1));
  });

  it('holds the engine back while the client does not read, and goes on when it does', async () => {
    const piece = 'x'.repeat(16_384);
    const count = 1000;
    const { engine, listen } = serveChat(() => say(Array.from({ length: count }, () => piece)));
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
