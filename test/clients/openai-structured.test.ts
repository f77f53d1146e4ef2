import { Ajv } from 'ajv';
import OpenAI from 'openai';
import { makeParseableResponseFormat } from 'openai/lib/parser';
import { afterAll, describe, expect, it } from 'vitest';
import { prefixCaching } from '../../src/engines/prefix-caching.ts';
import { serveEmbedded } from '../support/real-server.ts';

const server = await serveEmbedded({}, prefixCaching);
afterAll(() => server.close());
const client = new OpenAI({ baseURL: `${server.address}/v1`, apiKey: 'none', maxRetries: 0 });
const model = server.engine.model.name;
const base = { model, temperature: 1, seed: 3, max_completion_tokens: 200 };
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Tell me of an animal.' }];

const parameters = {
  type: 'object',
  properties: { city: { type: 'string', minLength: 1, maxLength: 12 }, unit: { enum: ['C', 'F'] } },
  required: ['city', 'unit'],
  additionalProperties: false,
};
const weather: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'get_weather', description: 'The weather in a city.', parameters, strict: true },
};
const time: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'get_time', parameters: { type: 'object', properties: {} } },
};
const isWeather = new Ajv().compile(parameters);

describe('structured output', () => {
  it('is parsed by the helper, and is the same streamed', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string', maxLength: 16 }, legs: { type: 'integer', minimum: 0, maximum: 8 } },
      required: ['name', 'legs'],
      additionalProperties: false,
    };
    // What zodResponseFormat makes of a zod schema.
    const format = makeParseableResponseFormat(
      { type: 'json_schema', json_schema: { name: 'animal', strict: true, schema } },
      (content) => JSON.parse(content),
    );
    const request = { ...base, messages, response_format: format };
    const { choices } = await client.chat.completions.parse(request);
    expect(choices[0]?.finish_reason).toBe('stop');
    expect(new Ajv().validate(schema, choices[0]?.message.parsed)).toBe(true);
    const streamed = await client.chat.completions.stream(request).finalChatCompletion();
    expect(streamed.choices[0]?.message.parsed).toEqual(choices[0]?.message.parsed);
  });

  it('any JSON object, cut where it is too long', async () => {
    const request = { ...base, messages, response_format: { type: 'json_object' as const }, max_completion_tokens: 8 };
    const { choices } = await client.chat.completions.create(request);
    expect(choices[0]?.finish_reason).toBe('length');
    expect(choices[0]?.message.content).toMatch(/^\{/);
  });

  it('each choice of several follows the format', async () => {
    const request = { ...base, messages, n: 4, guided_choice: ['fox', 'owl', 'hare'] };
    const { choices } = await client.chat.completions.create(request);
    for (const { message } of choices) expect(['fox', 'owl', 'hare']).toContain(message.content);
  });
});

describe('tools', () => {
  it('a conversation with a call, its result, and an answer', async () => {
    const asked = {
      ...base,
      messages,
      tools: [weather, time],
      tool_choice: 'required' as const,
      parallel_tool_calls: false,
    };
    const { choices } = await client.chat.completions.create(asked);
    const { message, finish_reason: reason } = choices[0]!;
    expect(reason).toBe('tool_calls');
    expect(message.content).toBeNull();
    const [call] = message.tool_calls!;
    if (call?.type !== 'function') throw new Error('no call of a function');
    expect(call.id).toMatch(/^call_\w+$/);
    expect(['get_weather', 'get_time']).toContain(call.function.name);

    const result = { role: 'tool' as const, tool_call_id: call.id, content: '{"sky":"blue"}' };
    const answer = await client.chat.completions.create({
      ...base,
      messages: [...messages, message, result],
      tools: [weather, time],
      tool_choice: 'none',
      max_completion_tokens: 8,
    });
    expect(answer.choices[0]?.message.content).not.toBe('');
    expect(answer.choices[0]?.message.tool_calls).toBeUndefined();
    expect(answer.usage!.prompt_tokens).toBeGreaterThan(20);
  });

  it('a named tool is called with arguments that fit, streamed as whole', async () => {
    const request = {
      ...base,
      messages,
      tools: [weather, time],
      tool_choice: { type: 'function' as const, function: { name: 'get_weather' } },
    };
    const whole = await client.chat.completions.create(request);
    const [call] = whole.choices[0]!.message.tool_calls!;
    if (call?.type !== 'function') throw new Error('no call of a function');
    expect(call.function.name).toBe('get_weather');
    expect(isWeather(JSON.parse(call.function.arguments))).toBe(true);

    const pieces: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall[] = [];
    const stream = client.chat.completions.stream(request);
    for await (const { choices } of stream) pieces.push(...(choices[0]?.delta.tool_calls ?? []));
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.finish_reason).toBe('tool_calls');
    expect(final.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: call.function });
    // The first piece has the name, the others only arguments.
    expect(pieces[0]).toMatchObject({ index: 0, type: 'function', function: { name: 'get_weather', arguments: '' } });
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.slice(1).every(({ id, function: part }) => id === undefined && part?.name === undefined)).toBe(true);
  });

  it('the helper that runs tools', async () => {
    const seen: unknown[] = [];
    const runner = client.chat.completions.runTools({
      ...base,
      messages,
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'The weather in a city.',
            parameters,
            parse: JSON.parse,
            function: (given: unknown) => {
              seen.push(given);
              return 'It rains.';
            },
          },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    });
    await runner.done();
    expect(seen).toHaveLength(1);
    expect(isWeather(seen[0])).toBe(true);
    expect(runner.messages.at(-1)).toMatchObject({ role: 'tool', content: 'It rains.' });
  });

  it('with auto the reply is free text, where the model begins no call', async () => {
    const { choices } = await client.chat.completions.create({
      ...base,
      messages,
      tools: [weather],
      max_completion_tokens: 8,
    });
    expect(choices[0]?.message.content).not.toBe('');
    expect(choices[0]?.message.tool_calls).toBeUndefined();
    expect(['stop', 'length']).toContain(choices[0]?.finish_reason);
  });
});

it('what cannot be compiled is a bad request that names its field', async () => {
  const schema = { type: 'object', properties: { a: { type: 'strin' } } };
  const error = await client.chat.completions
    .create({ ...base, messages, response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } })
    .catch((error: unknown) => error);
  expect(error).toBeInstanceOf(OpenAI.BadRequestError);
  expect(error).toMatchObject({ param: 'response_format', code: 'RXLLM_GRAMMAR_INVALID' });
});
