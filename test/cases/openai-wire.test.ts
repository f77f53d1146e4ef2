import OpenAI from 'openai';
import { afterAll, describe, expect, it } from 'vitest';
import { embeddedModel, type RealServer, serveEmbedded, serveScript } from '../support/real-server.ts';
import { chunksOf } from '../support/replies.ts';

const EOS = 2;
const model = await embeddedModel();
const server = await serveEmbedded();
afterAll(() => server.close());

const chat = { messages: [{ role: 'user', content: 'Tell me a story.' }], temperature: 0, max_tokens: 6 };
const prompt = { prompt: 'Once upon a time', temperature: 0, max_tokens: 6 };
const ENDPOINTS = [
  ['/v1/chat/completions', chat],
  ['/v1/completions', prompt],
] as const;

describe('5. The usage chunk', () => {
  it.each(ENDPOINTS)('%s', async (path, body) => {
    const { usage } = (await server.post(path, body)).body;
    expect(usage).toMatchObject({ completion_tokens: 6, total_tokens: usage!.prompt_tokens + 6 });

    const events = await server.events(path, { ...body, stream_options: { include_usage: true } });
    expect(events.at(-1)).toBe('[DONE]');
    const chunks = chunksOf(events);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage });
    for (const chunk of chunks.slice(0, -1)) {
      expect(chunk.choices).toHaveLength(1);
      expect(chunk.usage ?? null).toBeNull();
    }
    for (const fields of [{}, { stream_options: {} }, { stream_options: { include_usage: false } }]) {
      for (const chunk of chunksOf(await server.events(path, { ...body, ...fields }))) {
        expect(chunk).not.toHaveProperty('usage');
        expect(chunk.choices).toHaveLength(1);
      }
    }
  });

  it('counts all choices, and the prompt once', async () => {
    const body = { ...prompt, n: 2, stream_options: { include_usage: true } };
    const [last] = chunksOf(await server.events('/v1/completions', body)).slice(-1);
    const { usage } = (await server.post('/v1/completions', { ...prompt, n: 2 })).body;
    expect(last).toMatchObject({ choices: [], usage: { completion_tokens: 12, prompt_tokens: usage?.prompt_tokens } });
  });
});

describe('6. The first and last chunk', () => {
  it('have the role, and the reason with its index', async () => {
    const chunks = chunksOf(await server.events('/v1/chat/completions', chat));
    expect(chunks[0]?.choices[0]).toMatchObject({ index: 0, delta: { role: 'assistant' }, finish_reason: null });
    expect(chunks.at(-1)?.choices[0]).toMatchObject({ index: 0, delta: {}, finish_reason: 'length' });
    for (const chunk of chunks) expect(chunk.object).toBe('chat.completion.chunk');
    for (const chunk of chunks.slice(0, -1)) expect(chunk.choices[0]?.finish_reason).toBeNull();
  });

  it('the official client parses both modes', async () => {
    const client = new OpenAI({ baseURL: `${server.address}/v1`, apiKey: 'none', maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: 'Tell me a story.' }];
    const request = { model: model.name, messages, temperature: 0, max_tokens: 6 };
    const whole = (await client.chat.completions.create(request)).choices[0]!;
    const streamed = (await client.chat.completions.stream(request).finalChatCompletion()).choices[0]!;
    expect(whole).toMatchObject({ message: { role: 'assistant' }, finish_reason: 'length' });
    expect(streamed.message.content).toBe(whole.message.content);
    expect(streamed).toMatchObject({ index: 0, message: { role: 'assistant' }, finish_reason: 'length' });
  });
});

describe('7. max_completion_tokens ignored', () => {
  it('gives at most so many tokens, and "length"', async () => {
    const { body } = await server.post('/v1/chat/completions', { ...chat, max_tokens: null, max_completion_tokens: 5 });
    expect(body.usage?.completion_tokens).toBe(5);
    expect(body.choices[0]?.finish_reason).toBe('length');
  });

  it('an optional field that is null counts as absent', async () => {
    const fields = ['stop', 'seed', 'n', 'logprobs', 'top_logprobs', 'stream_options', 'logit_bias', 'user', 'top_p'];
    const nulls = Object.fromEntries(fields.map((field) => [field, null]));
    const plain = (await server.post('/v1/chat/completions', chat)).body;
    const { status, body } = await server.post('/v1/chat/completions', { ...chat, ...nulls });
    expect(status).toBe(200);
    expect(body.choices).toEqual(plain.choices);
  });
});

describe('8. Content parts', () => {
  const ask = (content: unknown, more: object[] = []) =>
    server.post('/v1/chat/completions', { ...chat, max_tokens: 2, messages: [...more, { role: 'user', content }] });
  const ids = async (content: unknown) =>
    (await server.post('/tokenize', { messages: [{ role: 'user', content }] })).body.tokens;

  it('a string and text parts give the same token ids', async () => {
    const parts = [
      { type: 'text', text: 'Hello, ' },
      { type: 'text', text: 'fox.' },
    ];
    expect(await ids(parts)).toEqual(await ids('Hello, fox.'));
    expect((await ask(parts)).body.choices).toEqual((await ask('Hello, fox.')).body.choices);
  });

  it('an image part gives 400 with a clear message', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const { status, body } = await ask([{ type: 'text', text: 'What is this?' }, image]);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ type: 'invalid_request_error', param: 'messages[0].content[1].type' });
    expect(body.error.message).toContain('"image_url" parts are not supported');
  });

  it.each([{ content: null }, {}])('an assistant turn with %j as its content is accepted', async (content) => {
    expect((await ask('Hi', [{ role: 'assistant', ...content }])).status).toBe(200);
  });
});

describe('9. Minus infinity', () => {
  /** The reply's text is JSON without a null where a number belongs. */
  async function finiteLogprobs(on: RealServer, fields: object): Promise<void> {
    const common = { temperature: 1, top_k: 1, seed: 1, max_tokens: 4, ...fields };
    const completion = await on.fetch('/v1/completions', { prompt: 'A', logprobs: 5, ...common });
    const { token_logprobs, top_logprobs } = JSON.parse(await completion.text()).choices[0].logprobs;
    expect(token_logprobs).toHaveLength(4);
    const messages = [{ role: 'user', content: 'A' }];
    const body = { messages, logprobs: true, top_logprobs: 5, ...common };
    const reply = await on.fetch('/v1/chat/completions', body);
    const { content } = JSON.parse(await reply.text()).choices[0].logprobs;
    expect(content).toHaveLength(4);
    const streamed = chunksOf(await on.events('/v1/chat/completions', body)).flatMap(({ choices }) => {
      const logprobs = choices[0]?.logprobs as { content: typeof content } | null;
      return logprobs?.content ?? [];
    });
    expect(streamed).toEqual(content);
    const numbers = [
      ...token_logprobs,
      ...top_logprobs.flatMap((top: object) => Object.values(top)),
      ...content.flatMap(({ logprob, top_logprobs: top }: { logprob: number; top_logprobs: { logprob: number }[] }) => [
        logprob,
        ...top.map((entry) => entry.logprob),
      ]),
    ];
    for (const number of numbers) expect(Number.isFinite(number)).toBe(true);
  }

  it('each value is a finite number', () => finiteLogprobs(server, {}));

  it('also where a token has no probability at all', async () => {
    const logits = new Float32Array(model.config.vocab).fill(Number.NEGATIVE_INFINITY);
    logits[40] = 1;
    const scripted = await serveScript({ next: () => logits });
    await finiteLogprobs(scripted, { logit_bias: { [EOS]: -100 } });
    await scripted.close();
  });
});
