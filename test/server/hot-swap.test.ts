import { expect, it } from 'vitest';
import { createTurns } from '../../src/core/runtime/turns.ts';
import { createEngine } from '../../src/engines/create-engine.ts';
import { createEngineHost } from '../../src/engines/engine-host.ts';
import { engines, findEngine } from '../../src/engines/registry.ts';
import { buildServer } from '../../src/transport/server.ts';
import { embeddedModel } from '../support/real-server.ts';
import { chunksOf, eventData } from '../support/replies.ts';

const PROMPTS = ['Once upon a time', 'The fox', 'A small house by the sea', 'Anna had a secret.'];
const LENGTHS = 7;
/** After so many streams their bodies come again. */
const DISTINCT = PROMPTS.length * LENGTHS;
const bodyOf = (stream: number) => ({
  prompt: PROMPTS[stream % PROMPTS.length]!,
  max_tokens: 8 + (stream % LENGTHS) * 4,
  temperature: 0,
  ignore_eos: true,
});

it('64 streams over two swaps: none fails, none changes its text', async () => {
  const model = await embeddedModel();
  const share = createTurns();
  const closed: string[] = [];
  const host = createEngineHost(async (name) => {
    const { recipe } = findEngine(name);
    const engine = await createEngine({ ...recipe, runtime: share(recipe.runtime) } as typeof recipe, model);
    return { ...engine, close: () => engine.close().then(() => void closed.push(name)) };
  });
  await host.swap('continuous-batching');
  const names = engines.map(({ recipe }) => recipe.name);
  const app = buildServer(host, { admin: { names, swap: host.swap } });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const send = (method: string, path: string, body: object) =>
    fetch(address + path, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  const replies: Promise<Response>[] = [];
  const start = (count: number) => {
    for (let i = 0; i < count; i++) {
      replies.push(send('POST', '/v1/completions', { ...bodyOf(replies.length), stream: true }));
    }
  };
  const swapTo = async (engine: string) => {
    const reply = await send('PUT', '/admin/engine', { engine });
    expect(await reply.json()).toMatchObject({ engine });
  };
  start(32);
  // Headers come with the first token.
  await replies[0];
  await swapTo('kv-cache');
  start(16);
  await replies[32];
  await swapTo('static-batching');
  start(16);
  const texts = await Promise.all(replies.map(async (reply) => textOf(await (await reply).text())));

  await swapTo('kv-cache');
  const alone: string[] = [];
  for (const [stream, text] of texts.entries()) {
    const { prompt, max_tokens } = bodyOf(stream);
    alone[stream] =
      alone[stream - DISTINCT] ?? (await host.engine()!.generate(prompt, max_tokens, { ignoreEos: true })).text;
    expect(text, `stream ${stream}`).toBe(alone[stream]);
  }
  await app.close();
  await host.close();
  expect(closed.toSorted()).toEqual(['continuous-batching', 'kv-cache', 'kv-cache', 'static-batching']);
});

/** @throws where the stream did not end well */
function textOf(stream: string): string {
  const events = eventData(stream);
  expect(events.at(-1)).toBe('[DONE]');
  const choices = chunksOf(events).map(({ choices: [choice] }) => choice!);
  expect(choices.at(-1)?.finish_reason).toBe('length');
  return choices.map(({ text }) => text).join('');
}
