import { afterAll, describe, expect, it } from 'vitest';
import type { Model } from '../../src/core/contracts/index.ts';
import { replyWith } from '../../src/core/runtime/reply-with.ts';
import { createChatTemplate } from '../../src/core/text/chat-template.ts';
import { byteFallbackTokenizer, VOCAB } from '../support/byte-fallback-tokenizer.ts';
import { byteTokens } from '../support/byte-tokens.ts';
import { embeddedModel, type RealServer, serveScript } from '../support/real-server.ts';
import { chunksOf } from '../support/replies.ts';

const EOS = 2;
const model = await embeddedModel();
const servers: RealServer[] = [];
afterAll(() => Promise.all(servers.map((server) => server.close())));

async function serve(...args: Parameters<typeof serveScript>) {
  const server = await serveScript(...args);
  servers.push(server);
  return server;
}

/** A server that answers everything with these bytes, a token each. */
const spelling = (bytes: Parameters<typeof byteTokens>[0]) => serve({ next: replyWith(byteTokens(bytes), EOS) });

/** The same request streamed, whole and over a WebSocket. */
async function everyWay(server: RealServer, fields: object) {
  const body = { prompt: 'Spell.', temperature: 0, max_tokens: 500, ...fields };
  const whole = (await server.post('/v1/completions', body)).body.choices[0]!;
  const chunks = chunksOf(await server.events('/v1/completions', body)).flatMap(({ choices }) => choices);
  const socket = await server.socket();
  socket.send({ type: 'generate', id: 'x', ...body });
  const { finish_reason } = await socket.end('x');
  await socket.close();
  return {
    whole: { text: whole.text, reason: whole.finish_reason },
    streamed: { pieces: chunks.map(({ text }) => text ?? ''), reason: chunks.at(-1)?.finish_reason },
    socket: { pieces: socket.of('x').map(({ text }) => text ?? ''), reason: finish_reason },
  };
}

describe('1. Stop string leaks while streaming', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
  it.each([
    ['DEFGHIJ', 'ABC'],
    ['A', ''],
    ['Z', 'ABCDEFGHIJKLMNOPQRSTUVWXY'],
    [['QRS', 'KLM', 'LM'], 'ABCDEFGHIJ'],
    // Nearly: what was held back comes out.
    [['DEFGHIX', 'FGHJ'], alphabet],
  ])('%j', async (stop, text) => {
    const { whole, streamed, socket } = await everyWay(await spelling(alphabet), { stop });
    expect(whole).toEqual({ text, reason: 'stop' });
    for (const { pieces, reason } of [streamed, socket]) {
      expect(pieces.join('')).toBe(text);
      expect(reason).toBe('stop');
      // No piece had the beginning of what became the stop string.
      for (const piece of pieces) expect(text).toContain(piece);
    }
  });

  it('in a chat', async () => {
    const server = await spelling(alphabet);
    const body = { messages: [{ role: 'user', content: 'Spell.' }], stop: ['DEFGHIJ'], temperature: 0 };
    const { choices } = (await server.post('/v1/chat/completions', body)).body;
    expect(choices[0]).toMatchObject({ message: { content: 'ABC' }, finish_reason: 'stop' });
    const chunks = chunksOf(await server.events('/v1/chat/completions', body)).map((chunk) => chunk.choices[0]!);
    expect(chunks.map(({ delta }) => delta?.content ?? '').join('')).toBe('ABC');
    expect(chunks.at(-1)?.finish_reason).toBe('stop');
  });
});

describe('2. Half characters', () => {
  const BROKEN = /\uFFFD|\p{Surrogate}/u;

  it.each(['😀', '👩🏽‍🚀', '👨‍👩‍👧‍👦', '한글', 'שָׁלוֹם', 'aé€😀z'])('%s, a byte a token', async (text) => {
    const { whole, streamed, socket } = await everyWay(await spelling(text), {});
    expect(whole).toEqual({ text, reason: 'stop' });
    for (const { pieces, reason } of [streamed, socket]) {
      expect(pieces.join('')).toBe(text);
      expect(reason).toBe('stop');
      for (const piece of pieces) expect(piece).not.toMatch(BROKEN);
    }
  });

  it('bytes that are truly invalid come out after a few tokens', async () => {
    const server = await spelling([0xf0, 0x9f, 0x61, 0xff, 0x62, 0x63, 0x64, 0x65, 0x66]);
    const { whole, streamed, socket } = await everyWay(server, {});
    expect(whole.text).toBe('\uFFFDa\uFFFDbcdef');
    expect(streamed.pieces.join('')).toBe(whole.text);
    // With the token after them, which shows that they are invalid.
    const tokens = socket.pieces.slice(1, -1);
    expect(tokens.slice(0, 4).join('')).toBe('\uFFFDa\uFFFD');
  });

  it.each([
    ['😀', 1, '\uFFFD'],
    ['😀', 3, '\uFFFD'],
    ['a😀', 3, 'a\uFFFD'],
    ['😀', 4, '😀'],
  ])('max_tokens ends inside %s after %i tokens: the rest is flushed once', async (text, maxTokens, wanted) => {
    const { whole, streamed, socket } = await everyWay(await spelling(text), { max_tokens: maxTokens });
    expect(whole).toEqual({ text: wanted, reason: 'length' });
    for (const { pieces, reason } of [streamed, socket]) {
      expect(pieces.join('')).toBe(wanted);
      expect(reason).toBe('length');
    }
  });
});

/** The embedded model with another tokenizer, whose vocabulary it takes. */
function withTemplate(template?: string): Model {
  return { ...model, config: { ...model.config, vocab: VOCAB }, tokenizer: byteFallbackTokenizer(template) };
}

describe('3. Double BOS', async () => {
  const BOS = 0;
  const END = 1;
  const template = "{{ bos_token }}{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}{% endfor %}";
  const withBos = withTemplate(template);
  const server = await serve({ next: () => END }, { model: withBos });
  const ran = () => server.runner.calls.at(-1)!.ids[0]!;

  it('a chat whose template writes it has it once, and is counted as the template’s own tokens', async () => {
    const messages = [{ role: 'user', content: 'a b' }];
    const { body } = await server.post('/v1/chat/completions', { messages });
    expect(ran().filter((id) => id === BOS)).toHaveLength(1);
    expect(ran()[0]).toBe(BOS);
    const own = withBos.tokenizer.encode('<s>user: a b', { addSpecialTokens: false });
    expect(ran()).toEqual(own);
    expect(body.usage?.prompt_tokens).toBe(own.length);
    expect((await server.post('/tokenize', { messages })).body.tokens).toEqual(own);
  });

  it('a plain completion gets it once, where the tokenizer adds it', async () => {
    const { body } = await server.post('/v1/completions', { prompt: 'a b' });
    expect(ran().filter((id) => id === BOS)).toHaveLength(1);
    expect(body.usage?.prompt_tokens).toBe(ran().length);
  });
});

describe('4. A chat template that raises', () => {
  const ask = (server: RealServer, role: string, fields = {}) =>
    server.post('/v1/chat/completions', { messages: [{ role, content: 'a' }], ...fields });

  it.each([{}, { stream: true }])(
    'gives 400 with its own message, %j, and the next request is served',
    async (fields) => {
      const template =
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}a";
      const server = await serve({ next: () => 1 }, { model: withTemplate(template) });
      const { status, body } = await ask(server, 'system', fields);
      expect(status).toBe(400);
      expect(body.error).toMatchObject({
        type: 'invalid_request_error',
        code: 'RXLLM_CHAT_TEMPLATE_FAILED',
        param: 'messages',
        message: expect.stringContaining('System role not supported'),
      });
      expect((await ask(server, 'user')).status).toBe(200);
    },
  );

  it('a model without one gives 400 with what to do, and the next request is served', async () => {
    const chatTemplate = createChatTemplate({ source: undefined, bosToken: undefined, eosToken: undefined });
    const tokenizer = { ...model.tokenizer, applyChatTemplate: chatTemplate };
    const server = await serve({ next: () => EOS }, { model: { ...model, tokenizer } });
    const { status, body } = await ask(server, 'user');
    expect(status).toBe(400);
    expect(body.error.code).toBe('RXLLM_CHAT_TEMPLATE_MISSING');
    expect(body.error.message).toContain('/v1/completions');
    expect((await server.post('/v1/completions', { prompt: 'a' })).status).toBe(200);
  });
});
