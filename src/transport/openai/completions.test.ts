import OpenAI from 'openai';
import { expect, it, onTestFinished } from 'vitest';
import { type FakeEngine, fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { buildServer } from '../server.ts';

function serve(engine: FakeEngine) {
  const app = buildServer({ engine: () => engine }, { now: () => 1_700_000_000_000 });
  onTestFinished(() => app.close());
  return app;
}
const post = (engine: FakeEngine, payload: object) =>
  serve(engine).inject({ method: 'POST', url: '/v1/completions', payload, headers: { 'x-request-id': 'abc' } });

it('answers a prompt in the shape of OpenAI', async () => {
  const engine = fakeEngine(() => say(['Hel', 'lo']));
  expect((await post(engine, { prompt: 'hi', max_tokens: 2 })).json()).toEqual({
    id: 'cmpl-abc',
    object: 'text_completion',
    created: 1_700_000_000,
    model: 'fake-model',
    choices: [{ index: 0, text: 'Hello', logprobs: null, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, prompt_tokens_details: { cached_tokens: 0 } },
    metrics: { throughput: 12.3, input_tokens: 3, output_tokens: 2, ttft_ms: 5.13 },
  });
  expect(engine.requests).toEqual([{ prompt: 'hi', params: { maxTokens: 2 } }]);
});

it.each([
  [
    ['a', 'b'],
    ['a', 'b'],
  ],
  [[1, 2], [[1, 2]]],
  [
    [[1, 2], [3]],
    [[1, 2], [3]],
  ],
])('takes %j as prompts', async (prompt, prompts) => {
  const engine = fakeEngine(() => say(['x']));
  const reply = (await post(engine, { prompt })).json();
  expect(engine.requests.map((request) => request.prompt)).toEqual(prompts);
  expect(reply.choices.map((choice: { index: number }) => choice.index)).toEqual(prompts.map((_, index) => index));
  expect(reply.usage.prompt_tokens).toBe(3 * prompts.length);
});

it('orders choices by prompt when each is answered n times', async () => {
  const engine = fakeEngine(({ prompt, params }) => say([`${prompt}${params?.seed}`]));
  const reply = (await post(engine, { prompt: ['a', 'b'], n: 2, seed: 1 })).json();
  expect(reply.choices.map((choice: { text: string }) => choice.text)).toEqual(['a1', 'a2', 'b1', 'b2']);
  expect(reply.usage).toEqual({
    prompt_tokens: 6,
    completion_tokens: 4,
    total_tokens: 10,
    prompt_tokens_details: { cached_tokens: 0 },
  });
});

it('gives logprobs with running offsets, streamed or not', async () => {
  const logprobs = ['a', 'b'].map((token) => {
    const entry = { id: token.charCodeAt(0), logprob: -1 };
    return { ...entry, top: [entry] };
  });
  const whole = (
    await post(
      fakeEngine(() => say(['a', 'b'], { logprobs })),
      { prompt: 'p', logprobs: 1 },
    )
  ).json();
  expect(whole.choices[0].logprobs).toEqual({
    tokens: ['a', 'b'],
    token_logprobs: [-1, -1],
    top_logprobs: [{ a: -1 }, { b: -1 }],
    text_offset: [0, 1],
  });
  const streamed = await post(
    fakeEngine(() => say(['a', 'b'], { logprobs })),
    { prompt: 'p', logprobs: 1, stream: true },
  );
  const offsets = [...streamed.payload.matchAll(/"text_offset":\[(\d+)\]/g)].map((match) => Number(match[1]));
  expect(offsets).toEqual([0, 1]);
});

it('echoes the prompt before each of its texts, streamed or not, as text or as ids', async () => {
  const engine = () => fakeEngine(() => say(['x', 'y']));
  const body = { prompt: ['one ', 'two '], n: 2, echo: true };
  const whole = (await post(engine(), body)).json();
  const texts = ['one xy', 'one xy', 'two xy', 'two xy'];
  expect(whole.choices.map(({ text }: { text: string }) => text)).toEqual(texts);
  const streamed = await post(engine(), { ...body, stream: true });
  const got = ['', '', '', ''];
  for (const [, json] of streamed.payload.matchAll(/^data: (\{.*)$/gm)) {
    for (const { index, text } of JSON.parse(json!).choices) got[index] += text;
  }
  expect(got).toEqual(texts);
  expect((await post(engine(), { prompt: [104, 105], echo: true })).json().choices[0].text).toBe('hixy');
});

it.each([
  [{ echo: true, logprobs: 1 }, 'echo'],
  [{ best_of: 2 }, 'best_of'],
  [{ suffix: 'x' }, 'suffix'],
])('refuses %j by name', async (fields, param) => {
  const reply = await post(
    fakeEngine(() => say(['x'])),
    { prompt: 'p', ...fields },
  );
  expect(reply.statusCode).toBe(400);
  expect(reply.json().error.param).toBe(param);
});

it('is read by the official client in both modes', async () => {
  const app = serve(fakeEngine(() => say(['Hel', 'lo'])));
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const openai = new OpenAI({ baseURL: `${address}/v1`, apiKey: 'none', maxRetries: 0 });
  const ask = { model: 'fake-model', prompt: 'hi' };
  expect((await openai.completions.create(ask)).choices[0]?.text).toBe('Hello');
  let text = '';
  for await (const chunk of await openai.completions.create({ ...ask, stream: true })) text += chunk.choices[0]?.text;
  expect(text).toBe('Hello');
});
