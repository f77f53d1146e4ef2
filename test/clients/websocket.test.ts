import { afterAll, expect, it } from 'vitest';
import { serveEmbedded } from '../support/real-server.ts';
import { eventually } from '../support/waiting.ts';

const server = await serveEmbedded();
afterAll(() => server.close());
const greedy = { temperature: 0, max_tokens: 10, ignore_eos: true };

/** What the same request gives over HTTP. */
async function overHttp(fields: { prompt: unknown } | { messages: unknown }) {
  const path = 'prompt' in fields ? '/v1/completions' : '/v1/chat/completions';
  const { choices, usage } = (await server.post(path, { ...greedy, ...fields })).body;
  return { text: choices[0]!.text ?? choices[0]!.message!.content, reason: choices[0]!.finish_reason, usage };
}

it('a conversation on one socket is the same as over HTTP', async () => {
  const socket = await server.socket();
  const messages = [{ role: 'system', content: 'You tell stories.' }];
  for (const [turn, content] of ['Tell me a story about a fox.', 'And then?', 'How does it end?'].entries()) {
    messages.push({ role: 'user', content });
    const id = `turn ${turn}`;
    socket.send({ type: 'generate', id, messages, ...greedy });
    const finished = await socket.end(id);
    const expected = await overHttp({ messages });
    expect(socket.text(id)).toBe(expected.text);
    expect(finished).toMatchObject({ type: 'finished', finish_reason: expected.reason, usage: expected.usage });
    const types = socket.of(id).map(({ type }) => type);
    expect(types).toEqual(['queued', ...Array(10).fill('token'), 'finished']);
    messages.push({ role: 'assistant', content: socket.text(id) });
  }
  await socket.close();
});

it('many streams on one socket are each their own', async () => {
  const socket = await server.socket();
  const prompts = Array.from({ length: 12 }, (_, index) => [894, 670, 262, 518 + index]);
  for (const [index, prompt] of prompts.entries()) socket.send({ type: 'generate', id: `${index}`, prompt, ...greedy });
  for (const [index, prompt] of prompts.entries()) {
    await socket.end(`${index}`);
    expect(socket.text(`${index}`)).toBe((await overHttp({ prompt })).text);
    const ids = socket.of(`${index}`).flatMap(({ token_id }) => token_id ?? []);
    expect(server.engine.model.tokenizer.decode(ids)).toBe(socket.text(`${index}`));
  }
  await socket.close();
});

it('cancelling one stream leaves the others, and closing the socket cancels all', async () => {
  const socket = await server.socket();
  const endless = { ...greedy, prompt: 'Once', max_tokens: 1500 };
  socket.send({ type: 'generate', id: 'cancelled', ...endless });
  await socket.next(({ id, type }) => id === 'cancelled' && type === 'token');
  socket.send({ type: 'generate', id: 'next', ...greedy, prompt: 'Once' });
  socket.send({ type: 'cancel', id: 'cancelled' });
  expect(await socket.end('next')).toMatchObject({ finish_reason: 'length' });
  expect(socket.of('cancelled').some(({ type }) => type === 'finished' || type === 'error')).toBe(false);
  socket.send({ type: 'generate', id: 'left', ...endless });
  await socket.next(({ id, type }) => id === 'left' && type === 'token');
  await socket.close();
  await eventually(() => expect(server.stats()).toMatchObject({ running: 0, waiting: 0, blocksUsed: 0 }));
});

it('a deadline ends a stream with what there is', async () => {
  const socket = await server.socket();
  socket.send({ type: 'generate', id: 'a', ...greedy, prompt: 'Once', max_tokens: 2000, deadline_ms: 100 });
  expect(await socket.end('a')).toMatchObject({ type: 'finished', finish_reason: 'abort' });
  await socket.close();
});

it('streams follow a format each, and one that cannot be compiled ends alone', async () => {
  const socket = await server.socket();
  const base = { type: 'generate', prompt: 'An animal:', temperature: 1, max_tokens: 60 };
  const schema = { type: 'object', properties: { legs: { enum: [2, 4, 8] } }, required: ['legs'] };
  socket.send({ ...base, id: 'choice', guided_choice: ['fox', 'owl'] });
  socket.send({ ...base, id: 'regex', guided_regex: '[a-z]{3,9}' });
  socket.send({ ...base, id: 'grammar', guided_grammar: 'root ::= "(" root ")" | "x"' });
  socket.send({ ...base, id: 'json', response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } });
  socket.send({ ...base, id: 'wrong', guided_grammar: 'root ::= nope' });
  socket.send({ ...base, id: 'two', guided_regex: 'a', guided_choice: ['a'] });
  expect(await socket.end('wrong')).toMatchObject({ code: 'RXLLM_GRAMMAR_INVALID', param: 'guided_grammar' });
  expect(await socket.end('two')).toMatchObject({ code: 'RXLLM_INVALID_REQUEST', param: 'guided_choice' });
  for (const id of ['choice', 'regex', 'json']) expect(await socket.end(id)).toMatchObject({ finish_reason: 'stop' });
  await socket.end('grammar');
  expect(['fox', 'owl']).toContain(socket.text('choice'));
  expect(socket.text('regex')).toMatch(/^[a-z]{3,9}$/);
  expect(socket.text('grammar')).toMatch(/^\(*(x\)*)?$/);
  expect([2, 4, 8]).toContain(JSON.parse(socket.text('json')).legs);
  await socket.close();
});
