import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateObject, generateText, jsonSchema, type ModelMessage, Output, stepCountIs, streamText, tool } from 'ai';
import { afterAll, expect, it } from 'vitest';
import { prefixCaching } from '../../src/engines/prefix-caching.ts';
import { serveEmbedded } from '../support/real-server.ts';

const server = await serveEmbedded({}, prefixCaching);
afterAll(() => server.close());
const provider = createOpenAICompatible({
  name: 'rxllm',
  baseURL: `${server.address}/v1`,
  supportsStructuredOutputs: true,
  includeUsage: true,
});
const model = provider(server.engine.model.name);
const sampled = { model, temperature: 1, seed: 5, maxOutputTokens: 200, maxRetries: 0 };

interface Animal {
  readonly name: string;
  readonly legs: number;
}
const animal = jsonSchema<Animal>({
  type: 'object',
  properties: { name: { type: 'string', maxLength: 16 }, legs: { type: 'integer', minimum: 0, maximum: 8 } },
  required: ['name', 'legs'],
  additionalProperties: false,
});
const expectAnimal = ({ name, legs }: Animal) => {
  expect(name.length).toBeLessThanOrEqual(16);
  expect([0, 1, 2, 3, 4, 5, 6, 7, 8]).toContain(legs);
};

it('a conversation is streamed', async () => {
  const messages: ModelMessage[] = [];
  for (const content of ['Tell me a story about a fox.', 'And then?', 'How does it end?']) {
    messages.push({ role: 'user', content });
    const request = { ...sampled, temperature: 0, maxOutputTokens: 10, system: 'You tell stories.', messages };
    const stream = streamText(request);
    let text = '';
    for await (const piece of stream.textStream) text += piece;
    const whole = await generateText(request);
    expect(text).toBe(whole.text);
    expect(text).not.toBe('');
    expect(await stream.finishReason).toBe(whole.finishReason);
    expect((await stream.usage).outputTokens).toBe(whole.usage.outputTokens);
    messages.push({ role: 'assistant', content: text });
  }
});

it('objects fit their schema', async () => {
  const { object } = await generateObject({ ...sampled, schema: animal, prompt: 'An animal.' });
  expectAnimal(object);
  const { output } = await generateText({
    ...sampled,
    output: Output.object({ schema: animal }),
    prompt: 'An animal.',
  });
  expectAnimal(output);
});

it('a tool is called, its result goes back, and an answer comes', async () => {
  const calls: Animal[] = [];
  const lookUp = tool({
    description: 'What is known of an animal.',
    inputSchema: animal,
    execute: (given: Animal) => {
      calls.push(given);
      return 'It is shy.';
    },
  });
  const asked = await generateText({
    ...sampled,
    tools: { lookUp },
    toolChoice: { type: 'tool', toolName: 'lookUp' },
    stopWhen: stepCountIs(1),
    prompt: 'Tell me of an animal.',
  });
  expect(asked.finishReason).toBe('tool-calls');
  expect(asked.toolCalls).toHaveLength(1);
  expectAnimal(calls[0]!);
  const answer = await generateText({
    ...sampled,
    maxOutputTokens: 8,
    tools: { lookUp },
    toolChoice: 'none',
    messages: [{ role: 'user', content: 'Tell me of an animal.' }, ...asked.response.messages],
  });
  expect(answer.text).not.toBe('');

  const streamed = streamText({
    ...sampled,
    tools: { lookUp },
    toolChoice: 'required',
    stopWhen: stepCountIs(1),
    prompt: 'Hi',
  });
  const [first] = await streamed.toolCalls;
  expect(first?.toolName).toBe('lookUp');
});
