import { afterAll, describe, expect, it } from 'vitest';
import { byteTokens } from '../support/byte-tokens.ts';
import { serveScript } from '../support/real-server.ts';

const [A] = byteTokens('a');
const server = await serveScript({ next: () => A! });
const socket = await server.socket();
afterAll(() => server.close());

const CHAT = '/v1/chat/completions';
const TEXT = '/v1/completions';
const messages = [{ role: 'user', content: 'Hi' }];
const huge = 'x'.repeat(2 * 1024 * 1024);

/** What is wrong with a generation, over HTTP and in a message alike: fields, and the one that is to be named. */
const FIELDS: readonly (readonly [endpoint: 'messages' | 'prompt', fields: object, param: string])[] = [
  ['messages', { messages: 'Hi' }, 'messages'],
  ['messages', { messages: [] }, 'messages'],
  ['messages', { messages: [1] }, 'messages[0]'],
  ['messages', { messages: [{ content: 'Hi' }] }, 'messages[0].role'],
  ['messages', { messages: [{ role: 'robot', content: 'Hi' }] }, 'messages[0].role'],
  ['messages', { messages: [{ role: 'user' }] }, 'messages[0].content'],
  ['messages', { messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
  ['messages', { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }, 'messages[0].content[0].type'],
  ['messages', { messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages[0].content[0].text'],
  ['messages', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, 'messages[0].content[0].type'],
  ['messages', { messages: [{ role: 'user', content: 'Hi', nickname: 'x' }] }, 'messages[0].nickname'],
  ['messages', { messages, tools: [] }, 'tools'],
  ['messages', { messages, functions: [] }, 'functions'],
  ['messages', { messages, response_format: { type: 'yaml' } }, 'response_format.type'],
  ['messages', { messages, top_logprobs: 2 }, 'top_logprobs'],
  ['messages', { messages, logprobs: 2 }, 'logprobs'],
  ['messages', { messages, max_completion_tokens: 0 }, 'max_completion_tokens'],
  ['prompt', { prompt: 5 }, 'prompt'],
  ['prompt', { prompt: {} }, 'prompt'],
  ['prompt', { prompt: [] }, 'prompt'],
  ['prompt', { prompt: [1, 'a'] }, 'prompt[1]'],
  ['prompt', { prompt: [1.5] }, 'prompt[0]'],
  ['prompt', { prompt: [-1] }, 'prompt[0]'],
  ['prompt', { prompt: [8192] }, 'prompt'],
  ['prompt', { prompt: Array(4000).fill(5) }, 'prompt'],
  ['prompt', { prompt: '' }, 'prompt'],
  ['prompt', { prompt: 'a', temperature: '1' }, 'temperature'],
  ['prompt', { prompt: 'a', temperature: -1 }, 'temperature'],
  ['prompt', { prompt: 'a', temperature: 2.1 }, 'temperature'],
  ['prompt', { prompt: 'a', top_p: 1.5 }, 'top_p'],
  ['prompt', { prompt: 'a', top_k: 1.5 }, 'top_k'],
  ['prompt', { prompt: 'a', min_p: true }, 'min_p'],
  ['prompt', { prompt: 'a', max_tokens: 0 }, 'max_tokens'],
  ['prompt', { prompt: 'a', max_tokens: 1.5 }, 'max_tokens'],
  ['prompt', { prompt: 'a', max_tokens: 2, min_tokens: 3 }, 'min_tokens'],
  ['prompt', { prompt: 'a', stop: '' }, 'stop'],
  ['prompt', { prompt: 'a', stop: ['a', 1] }, 'stop[1]'],
  ['prompt', { prompt: 'a', stop: Array(17).fill('a') }, 'stop'],
  ['prompt', { prompt: 'a', stop_token_ids: [8192] }, 'stop_token_ids'],
  ['prompt', { prompt: 'a', seed: 0.5 }, 'seed'],
  ['prompt', { prompt: 'a', logit_bias: { a: 1 } }, 'logit_bias.a'],
  ['prompt', { prompt: 'a', logit_bias: { 5: 101 } }, 'logit_bias[5]'],
  ['prompt', { prompt: 'a', logit_bias: { 8192: 1 } }, 'logit_bias'],
  ['prompt', { prompt: 'a', frequency_penalty: 3 }, 'frequency_penalty'],
  ['prompt', { prompt: 'a', repetition_penalty: 0 }, 'repetition_penalty'],
  ['prompt', { prompt: 'a', logprobs: 21 }, 'logprobs'],
  ['prompt', { prompt: 'a', deadline_ms: 0 }, 'deadline_ms'],
  ['prompt', { prompt: 'a', ignore_eos: 'no' }, 'ignore_eos'],
  ['prompt', { prompt: 'a', best_of: 2 }, 'best_of'],
  ['prompt', { prompt: 'a', suffix: 'b' }, 'suffix'],
  ['prompt', { prompt: 'a', best_of: 2 }, 'best_of'],
  ['prompt', JSON.parse('{"prompt":"a","__proto__x":1}'), '__proto__x'],
];

describe('an HTTP body', () => {
  const expectServed = async () => {
    const { status, body } = await server.post(TEXT, { prompt: 'a', max_tokens: 2 });
    expect(status).toBe(200);
    expect(body.choices[0]?.text).toBe('aa');
  };
  const send = (path: string, body: string | Uint8Array, type = 'application/json') =>
    fetch(server.address + path, { method: 'POST', headers: { 'content-type': type }, body });

  async function expectError(reply: Response, status: number, param?: string): Promise<void> {
    expect(reply.status).toBe(status);
    const body = (await reply.json()) as object;
    expect(body).toEqual({
      error: {
        message: expect.stringMatching(/./),
        type: 'invalid_request_error',
        param: param ?? null,
        code: expect.any(String),
      },
    });
    if (param !== undefined) expect(body).toHaveProperty('error.message', expect.stringContaining(param));
    await expectServed();
  }

  it.each(FIELDS)('%s: %j', async (endpoint, fields, param) => {
    await expectError(await send(endpoint === 'messages' ? CHAT : TEXT, JSON.stringify(fields)), 400, param);
  });

  it.each([
    [CHAT, {}, 400, 'messages'],
    [TEXT, {}, 400, 'prompt'],
    [TEXT, { prompt: ['a', 1] }, 400, 'prompt[1]'],
    [TEXT, { prompt: 'a', model: 'gpt-4' }, 404, 'model'],
    [TEXT, { prompt: 'a', n: 0 }, 400, 'n'],
    [TEXT, { prompt: 'a', n: 1000 }, 400, 'n'],
    [TEXT, { prompt: 'a', stream: 'yes' }, 400, 'stream'],
    [TEXT, { prompt: 'a', stream_options: { include_usage: true } }, 400, 'stream_options'],
    [TEXT, { prompt: 'a', stream: true, stream_options: { usage: true } }, 400, 'stream_options.usage'],
    [TEXT, { prompt: 'a', stream: true, temperature: 5 }, 400, 'temperature'],
    [TEXT, { prompt: Array(33).fill('a') }, 400, 'prompt'],
  ] as const)('%s %j', async (path, fields, status, param) => {
    await expectError(await send(path, JSON.stringify(fields)), status, param);
  });

  it.each([
    ['nothing', ''],
    ['half a JSON', '{"prompt":'],
    ['not JSON', 'prompt=a'],
    ['an array', '[]'],
    ['a string', '"a"'],
    ['a number', '1'],
    ['null', 'null'],
    ['two objects', '{"prompt":"a"}{"prompt":"a"}'],
    ['NaN', '{"prompt":"a","temperature":NaN}'],
    ['a prototype', '{"prompt":"a","__proto__":{"max_tokens":1}}'],
    ['binary', Uint8Array.from([0, 159, 146, 150])],
  ])('%s', async (_name, body) => {
    await expectError(await send(TEXT, body), 400);
  });

  it('of another type', async () => {
    await expectError(await send(TEXT, 'prompt=a', 'application/x-www-form-urlencoded'), 415);
  });

  it('of 2 MB of text', async () => {
    await expectError(await send(TEXT, JSON.stringify({ prompt: huge })), 413);
  });

  it('of 2 MB in chunks, its length untold', async () => {
    const chunks = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 32; i++) controller.enqueue(new TextEncoder().encode('x'.repeat(64 * 1024)));
        controller.close();
      },
    });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: chunks, duplex: 'half' };
    await expectError(await fetch(server.address + TEXT, init as RequestInit), 413);
  });
});

describe('a WebSocket message', () => {
  const NAME = expect.stringContaining('A property named "__proto__"');
  let count = 0;

  async function expectError(message: object | string | Buffer, expected: object): Promise<void> {
    socket.received.length = 0;
    socket.send(message);
    const error = await socket.next(({ type }) => type === 'error');
    expect(error).toEqual({
      type: 'error',
      code: 'RXLLM_INVALID_REQUEST',
      message: expect.stringMatching(/./),
      ...expected,
    });
    const id = `next ${count++}`;
    socket.send({ type: 'generate', id, prompt: 'a', max_tokens: 2 });
    expect(await socket.end(id)).toMatchObject({ type: 'finished', finish_reason: 'length' });
    expect(socket.text(id)).toBe('aa');
    expect(socket.received.filter(({ type }) => type === 'error')).toHaveLength(1);
  }

  it.each(FIELDS)('%s: %j', async (_endpoint, fields, param) => {
    const code = Array.isArray((fields as { prompt?: unknown }).prompt) && JSON.stringify(fields).length > 5000;
    await expectError(
      { type: 'generate', id: 'bad', ...fields },
      { id: 'bad', param, ...(code && { code: 'RXLLM_CONTEXT_LENGTH_EXCEEDED' }) },
    );
  });

  it.each([
    [{}, { param: 'type' }],
    [
      { type: 'stop', id: 'bad' },
      { id: 'bad', param: 'type' },
    ],
    [
      { type: ['generate'], id: 'bad' },
      { id: 'bad', param: 'type' },
    ],
    [{ type: 'generate', prompt: 'a' }, { param: 'id' }],
    [{ type: 'generate', id: 5, prompt: 'a' }, { param: 'id' }],
    [
      { type: 'generate', id: '', prompt: 'a' },
      { id: '', param: 'id' },
    ],
    [{ type: 'generate', id: null, prompt: 'a' }, { param: 'id' }],
    [
      { type: 'generate', id: 'x'.repeat(129), prompt: 'a' },
      { id: 'x'.repeat(129), param: 'id' },
    ],
    [
      { type: 'generate', id: 'bad' },
      { id: 'bad', param: 'messages' },
    ],
    [
      { type: 'generate', id: 'bad', prompt: 'a', messages },
      { id: 'bad', param: 'prompt' },
    ],
    [
      { type: 'generate', id: 'bad', prompt: ['a', 'b'] },
      { id: 'bad', param: 'prompt[0]' },
    ],
    [
      { type: 'generate', id: 'bad', prompt: 'a', n: 2 },
      { id: 'bad', param: 'n' },
    ],
    [
      { type: 'generate', id: 'bad', prompt: 'a', stream: true },
      { id: 'bad', param: 'stream' },
    ],
    [
      { type: 'generate', id: 'bad', prompt: 'a', model: 'gpt-4' },
      { id: 'bad', param: 'model', code: 'model_not_found' },
    ],
    [{ type: 'cancel' }, { param: 'id' }],
    [{ type: 'cancel', id: 5 }, { param: 'id' }],
    [
      { type: 'cancel', id: 'bad', reason: 'x' },
      { id: 'bad', param: 'reason' },
    ],
    ['', {}],
    ['{"type":"generate","id":"bad","prompt":"a","__proto__":{"max_tokens":1}}', { id: 'bad', message: NAME }],
    ['{"type":"generate","id":"bad","prompt":"a","logit_bias":{"\\u005f_proto__":1}}', { id: 'bad', message: NAME }],
    ['{"type":"cancel","id":"bad","constructor":{"prototype":1}}', { id: 'bad', message: NAME }],
    ['{"__proto__":{"type":"cancel","id":"bad"}}', { message: NAME }],
    ['{"type":', {}],
    ['generate', {}],
    ['null', {}],
    ['[]', {}],
    ['5', {}],
    [`${'['.repeat(100_000)}`, {}],
    [JSON.stringify({ type: 'generate', id: 'bad', prompt: huge }), { code: 'request_too_large' }],
    [Buffer.from('{"type":"generate","id":"bad","prompt":"a"}'), {}],
    [Buffer.alloc(2 * 1024 * 1024), {}],
  ] as const)('%#', expectError);
});
