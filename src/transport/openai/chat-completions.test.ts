import { describe, expect, it } from 'vitest';
import { messages, serveChat } from '../../../test/support/chat-server.ts';
import { say } from '../../../test/support/fake-engine.ts';
import { eventually } from '../../../test/support/waiting.ts';
import { RxllmError } from '../../core/errors.ts';

describe('JSON', () => {
  it('answers in the shape of OpenAI, with metrics', async () => {
    const { post, engine } = serveChat(() => say(['Hel', 'lo']));
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
    const { post, engine } = serveChat(({ params }) => say([`seed ${params?.seed}`, '!']));
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
    const { post, engine } = serveChat(() => say(['H'], { logprobs }));
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
    const { post, engine } = serveChat(() => say(['ok']));
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
    const { post } = serveChat(() => [{ type: 'fail', error: full }]);
    const reply = await post({ messages });
    expect(reply.statusCode).toBe(429);
    expect(reply.headers['retry-after']).toBe('1');
    expect(reply.json()).toEqual({
      error: { message: full.message, type: 'rate_limit_error', param: null, code: 'RXLLM_QUEUE_FULL' },
    });
  });

  it('keeps the message of an unknown error to itself', async () => {
    const { post } = serveChat(() => [{ type: 'fail', error: new Error('cannot read some/secret/path') }]);
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
    const { engine, listen } = serveChat(() => [{ type: 'queued', position: 0 }, { type: 'hang' }]);
    const address = await listen();
    const controller = new AbortController();
    const pending = fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages, n: 2 }),
      signal: controller.signal,
    });
    await eventually(() => expect(engine.active).toBe(2));
    controller.abort();
    await expect(pending).rejects.toThrow();
    await eventually(() => expect(engine.cancelled).toBe(2));
    expect(engine.active).toBe(0);
  });
});
