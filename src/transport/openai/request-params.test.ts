import { describe, expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { buildServer } from '../server.ts';

async function ask(body: object, generationDefaults = {}) {
  const engine = fakeEngine(() => say(['ok']), { generationDefaults });
  const app = buildServer({ engine: () => engine });
  const reply = await app.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    payload: { messages: [{ role: 'user', content: 'hi' }], ...body },
  });
  await app.close();
  return { status: reply.statusCode, error: reply.json().error, request: engine.requests[0] };
}

describe('what is asked', () => {
  it('reaches the engine under our names', async () => {
    const { request } = await ask({
      temperature: 0.5,
      top_p: 0.9,
      top_k: 0,
      min_p: 0.1,
      max_tokens: 9,
      min_tokens: 2,
      frequency_penalty: 1,
      presence_penalty: -1,
      repetition_penalty: 1.1,
      logit_bias: { '5': -100, '17': 3.5 },
      seed: 42,
      stop: 'END',
      stop_token_ids: [7],
      ignore_eos: true,
      deadline_ms: 250,
      cache_salt: 'tenant',
    });
    expect(request?.params).toEqual({
      temperature: 0.5,
      topP: 0.9,
      topK: 0,
      minP: 0.1,
      maxTokens: 9,
      minTokens: 2,
      frequencyPenalty: 1,
      presencePenalty: -1,
      repetitionPenalty: 1.1,
      logitBias: new Map([
        [5, -100],
        [17, 3.5],
      ]),
      seed: 42,
      stop: ['END'],
      stopTokenIds: [7],
      ignoreEos: true,
    });
    expect(request?.deadlineMs).toBe(250);
    expect(request?.cacheSalt).toBe('tenant');
  });

  it('falls back to the model, and for max_tokens to the rest of the context', async () => {
    const defaults = { temperature: 0.8, topP: 0.95, maxTokens: 30 };
    expect((await ask({}, defaults)).request?.params).toEqual(defaults);
    expect((await ask({ temperature: 0 }, defaults)).request?.params).toEqual({ ...defaults, temperature: 0 });
    expect((await ask({})).request?.params).toEqual({ maxTokens: 64 });
  });

  it('takes max_completion_tokens before max_tokens', async () => {
    expect((await ask({ max_completion_tokens: 5 })).request?.params?.maxTokens).toBe(5);
    expect((await ask({ max_completion_tokens: 5, max_tokens: 9 })).request?.params?.maxTokens).toBe(5);
  });

  it('takes null as absent, and fields of OpenAI’s own service without effect', async () => {
    const body = { temperature: null, stop: null, stream: null, stream_options: null, logit_bias: null, tools: null };
    const service = { user: 'u', metadata: { a: 'b' }, store: false, service_tier: 'auto', parallel_tool_calls: true };
    expect((await ask({ ...body, ...service })).request?.params).toEqual({ maxTokens: 64 });
  });
});

describe('what is refused', () => {
  it.each([
    [{ functions: [] }, 'functions', 'functions: this field is not supported; instead give "tools".'],
    [
      { max_new_tokens: 5 },
      'max_new_tokens',
      'max_new_tokens: this field is not supported; instead give "max_tokens".',
    ],
    [{ toString: 1 }, 'toString', 'toString: this field is unknown or not supported; remove it.'],
    [
      { stream: true, stream_options: { regex: 'a' } },
      'stream_options.regex',
      'stream_options.regex: this field is unknown or not supported; remove it.',
    ],
    [{ best_of: 2 }, 'best_of', 'best_of: this field is unknown or not supported; remove it.'],
    [{ stream_options: { x: 1 }, stream: true }, 'stream_options.x', 'stream_options.x: this field is unknown'],
    [{ stream_options: { include_usage: true } }, 'stream_options', 'stream_options: set "stream": true with it.'],
    [{ temperature: '0.5' }, 'temperature', 'temperature: must be number.'],
    [{ temperature: -1 }, 'temperature', 'temperature: must be >= 0.'],
    [{ repetition_penalty: 0.001 }, 'repetition_penalty', 'repetition_penalty: must be >= 0.01.'],
    [{ repetition_penalty: 1e9 }, 'repetition_penalty', 'repetition_penalty: must be <= 100.'],
    [{ max_tokens: 1e300 }, 'max_tokens', 'max_tokens: must be <= 2147483647.'],
    [{ max_completion_tokens: 1e300 }, 'max_completion_tokens', 'max_completion_tokens: must be <= 2147483647.'],
    [{ min_tokens: 1e300 }, 'min_tokens', 'min_tokens: must be <= 2147483647.'],
    [{ top_k: 1e300 }, 'top_k', 'top_k: must be <= 2147483647.'],
    [{ deadline_ms: 2 ** 31 }, 'deadline_ms', 'deadline_ms: must be <= 2147483647.'],
    [{ logit_bias: { '': 1 } }, 'logit_bias', 'logit_bias: a field "" is not supported; remove it.'],
    [{ max_tokens: 0 }, 'max_tokens', 'max_tokens: must be >= 1.'],
    [{ max_tokens: 1.5 }, 'max_tokens', 'max_tokens: must be integer.'],
    [{ n: 9 }, 'n', 'n: must be <= 8.'],
    [{ stop: 3 }, 'stop', 'stop: must be string or array.'],
    [{ stop: ['a', 3] }, 'stop[1]', 'stop[1]: must be string.'],
    [{ logit_bias: { abc: 1 } }, 'logit_bias.abc', 'logit_bias.abc: this field is unknown'],
    [{ logit_bias: { '5': 101 } }, 'logit_bias[5]', 'logit_bias[5]: must be <= 100.'],
    [{ logit_bias: { '256': 1 } }, 'logit_bias', 'logit_bias: token 256 is outside the vocabulary'],
    [{ stop_token_ids: [256] }, 'stop_token_ids', 'stop_token_ids: token 256 is outside the vocabulary'],
    [{ min_tokens: 9, max_tokens: 8 }, 'min_tokens', 'min_tokens: 9 is more than max_tokens, which is 8.'],
    [{ top_logprobs: 3 }, 'top_logprobs', 'top_logprobs: set "logprobs": true with it.'],
    [{ messages: null }, 'messages', 'messages: this field is required.'],
    [{ messages: [] }, 'messages', 'messages: must NOT have fewer than 1 items.'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content', 'messages[0].content: a message of role "user" needs'],
    [{ messages: [{ role: 'bot', content: '' }] }, 'messages[0].role', 'messages[0].role: must be one of "system",'],
    [{ messages: [{ role: 'user', content: 5 }] }, 'messages[0].content', 'must be string or array.'],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
      'messages[0].content[0].type',
      '"image_url" parts are not supported; this model reads text only',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      'messages[0].content[0].text',
      'a text part needs its text',
    ],
    [{ model: 'gpt-4' }, 'model', 'The model "gpt-4" is not served here; use "fake-model"'],
  ])('%j names %s', async (body, param, message) => {
    const { status, error, request } = await ask(body);
    expect(status).toBe(param === 'model' ? 404 : 400);
    expect(error.type).toBe('invalid_request_error');
    expect(error.param).toBe(param);
    expect(error.message).toContain(message);
    expect(request).toBeUndefined();
  });
});
