import OpenAI from 'openai';
import { afterAll, describe, expect, it } from 'vitest';
import { serveEmbedded } from '../support/real-server.ts';
import { eventually } from '../support/waiting.ts';

const server = await serveEmbedded();
afterAll(() => server.close());
const client = new OpenAI({ baseURL: `${server.address}/v1`, apiKey: 'none', maxRetries: 0 });
const model = server.engine.model.name;
const greedy = { model, temperature: 0, max_tokens: 12 };

/** The chat that grows: each turn is asked streamed and whole, and the reply becomes part of the next. */
const SCRIPT = ['Tell me a story about a fox.', 'And then?', 'How does it end?'];

describe('chat completions', () => {
  it('a conversation of three turns is the same streamed and whole', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'system', content: 'You tell stories.' }];
    let promptTokens = 0;
    for (const content of SCRIPT) {
      messages.push({ role: 'user', content });
      const whole = await client.chat.completions.create({ ...greedy, messages });
      const stream = client.chat.completions.stream({ ...greedy, messages, stream_options: { include_usage: true } });
      let streamed = '';
      for await (const chunk of stream) streamed += chunk.choices[0]?.delta.content ?? '';
      const final = await stream.finalChatCompletion();

      const choice = whole.choices[0]!;
      expect(choice.message.content).not.toBe('');
      expect(streamed).toBe(choice.message.content);
      expect(final.choices[0]?.message.content).toBe(choice.message.content);
      expect(final.choices[0]?.finish_reason).toBe(choice.finish_reason);
      expect(final.usage).toEqual(whole.usage);
      expect(whole.usage!.prompt_tokens).toBeGreaterThan(promptTokens);
      promptTokens = whole.usage!.prompt_tokens;
      messages.push(choice.message);
    }
  });

  it('log-probabilities are the same streamed and whole, their likeliest the chosen token', async () => {
    const request = {
      ...greedy,
      messages: [{ role: 'user' as const, content: 'Hi' }],
      logprobs: true,
      top_logprobs: 3,
    };
    const whole = await client.chat.completions.create(request);
    const content = whole.choices[0]?.logprobs?.content ?? [];
    expect(content).toHaveLength(whole.usage!.completion_tokens);
    for (const { token, logprob, top_logprobs: top } of content) {
      expect(top).toHaveLength(3);
      expect(top[0]).toMatchObject({ token, logprob });
      expect(top.map((entry) => entry.logprob)).toEqual(top.map((entry) => entry.logprob).toSorted((a, b) => b - a));
    }
    const streamed = await client.chat.completions.stream(request).finalChatCompletion();
    expect(streamed.choices[0]?.logprobs?.content).toEqual(content);
  });

  it('a seed gives the same choices again, and others than another seed', async () => {
    const ask = async (seed: number) => {
      const messages = [{ role: 'user' as const, content: 'Hi' }];
      const { choices } = await client.chat.completions.create({ model, messages, max_tokens: 12, seed, n: 2 });
      return choices.map(({ message }) => message.content);
    };
    const [first, second] = await ask(7);
    expect(await ask(7)).toEqual([first, second]);
    expect(second).not.toBe(first);
    // Choices count the seed up.
    expect((await ask(8))[0]).toBe(second);
  });
});

describe('completions', () => {
  it('text, token ids and several prompts, whole and streamed', async () => {
    const prompts = ['Once upon a time', 'The little fox'];
    const ids = prompts.map((prompt) => server.engine.model.tokenizer.encode(prompt));
    const texts: string[] = [];
    for (const prompt of prompts) {
      const { choices } = await client.completions.create({ ...greedy, prompt });
      texts.push(choices[0]!.text);
    }
    for (const prompt of [prompts, ids]) {
      const { choices, usage } = await client.completions.create({ ...greedy, prompt });
      expect(choices.map(({ text }) => text)).toEqual(texts);
      expect(usage?.prompt_tokens).toBe(ids.flat().length);
    }
    const streamed = ['', ''];
    for await (const { choices } of await client.completions.create({ ...greedy, prompt: prompts, stream: true })) {
      for (const { index, text } of choices) streamed[index] += text;
    }
    expect(streamed).toEqual(texts);
  });

  it('log-probabilities lie where their tokens lie in the text', async () => {
    const { choices } = await client.completions.create({ ...greedy, prompt: 'Once', logprobs: 2 });
    const { text, logprobs } = choices[0]!;
    expect(logprobs!.tokens!.join('')).toBe(text);
    logprobs!.text_offset!.forEach((offset, index) => {
      expect(text.startsWith(logprobs!.tokens![index]!, offset)).toBe(true);
    });
    expect(logprobs!.token_logprobs!.every((logprob) => logprob <= 0)).toBe(true);
  });
});

describe('going away', () => {
  const endless = { model, prompt: 'Once', max_tokens: 1500, temperature: 0, logit_bias: { '0': -100, '2': -100 } };
  const idle = () => expect(server.stats()).toMatchObject({ running: 0, waiting: 0, blocksUsed: 0 });

  it('breaking off a stream cancels it', async () => {
    const stream = await client.completions.create({ ...endless, stream: true });
    let chunks = 0;
    for await (const _ of stream) if (++chunks === 3) break;
    await eventually(idle);
  });

  it('aborting a request that is not streamed cancels it', async () => {
    const abort = new AbortController();
    const reply = client.completions.create(endless, { signal: abort.signal });
    await eventually(() => expect(server.stats()).toMatchObject({ running: 1 }));
    abort.abort();
    await expect(reply).rejects.toThrow(OpenAI.APIUserAbortError);
    await eventually(idle);
  });
});

describe('errors', () => {
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  it.each([
    [{ ...greedy, messages: [] }, OpenAI.BadRequestError, 'messages'],
    [{ ...greedy, messages, temperature: 3 }, OpenAI.BadRequestError, 'temperature'],
    [{ ...greedy, messages, tools: [] }, OpenAI.BadRequestError, 'tools'],
    [{ ...greedy, messages, model: 'gpt-4' }, OpenAI.NotFoundError, 'model'],
  ] as const)('%# are those of the client', async (request, type, param) => {
    const error: unknown = await client.chat.completions.create(request as never).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(type);
    expect((error as InstanceType<typeof OpenAI.APIError>).param).toBe(param);
  });

  it('the model is listed', async () => {
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual([model]);
    expect(await client.models.retrieve(model)).toMatchObject({ id: model, object: 'model' });
  });
});
