import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { serveChat } from '../../../test/support/chat-server.ts';
import { type Step, say } from '../../../test/support/fake-engine.ts';
import type { GenerateRequest } from '../../core/contracts/index.ts';

describe('the official client', () => {
  async function client(script: (request: GenerateRequest) => Iterable<Step>) {
    const { listen } = serveChat(script);
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
