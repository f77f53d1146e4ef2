import { afterAll, describe, expect, it } from 'vitest';
import { byteFallbackTokenizer } from '../../../test/support/byte-fallback-tokenizer.ts';
import { fakeEngine } from '../../../test/support/fake-engine.ts';
import { modelDirectory } from '../../../test/support/models.ts';
import type { Engine } from '../../core/contracts/index.ts';
import { loadModel } from '../../core/model/load-model.ts';
import { buildServer } from '../server.ts';

const fake = fakeEngine(() => []);
const model = await loadModel(modelDirectory('storyteller-12m'));
const embedded = serve({ ...fake, model });
/** Its tokenizer adds BOS, and it has no chat template. */
const withBos = serve({ ...fake, model: { ...model, tokenizer: byteFallbackTokenizer() } });
afterAll(() => Promise.all([embedded.close(), withBos.close()]));

function serve(engine: Engine) {
  return buildServer({ engine: () => engine });
}

async function post(app: typeof embedded, url: string, payload: object) {
  const reply = await app.inject({ method: 'POST', url, payload });
  return { status: reply.statusCode, body: reply.json() };
}

describe('/tokenize', () => {
  it('gives the ids of a prompt, and /detokenize the prompt of the ids', async () => {
    const { body } = await post(embedded, '/tokenize', { model: model.name, prompt: 'A fox. 😀' });
    expect(body).toEqual({ tokens: model.tokenizer.encode('A fox. 😀'), count: body.tokens.length, max_model_len: 64 });
    expect((await post(embedded, '/detokenize', { tokens: body.tokens })).body).toEqual({ prompt: 'A fox. 😀' });
  });

  it('gives the ids of a chat as its template writes it', async () => {
    const { body } = await post(embedded, '/tokenize', { messages: [{ role: 'user', content: 'Hi' }] });
    const text = '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n';
    expect(body.tokens).toEqual(model.tokenizer.encode(text));
    expect((await post(embedded, '/detokenize', { tokens: body.tokens })).body).toEqual({ prompt: text });
  });

  it('adds the tokenizer’s special tokens to a prompt unless told not to', async () => {
    const ids = async (fields: object) => (await post(withBos, '/tokenize', { prompt: 'a', ...fields })).body.tokens;
    const plain = await ids({ add_special_tokens: false });
    expect(await ids({})).toEqual([0, ...plain]);
    expect(await ids({ add_special_tokens: null })).toEqual([0, ...plain]);
    expect(plain).not.toContain(0);
  });

  it('has empty text as no ids, and no ids as empty text', async () => {
    expect((await post(embedded, '/tokenize', { prompt: '' })).body).toMatchObject({ tokens: [], count: 0 });
    expect((await post(embedded, '/detokenize', { tokens: [] })).body).toEqual({ prompt: '' });
  });

  it.each([
    ['/tokenize', {}, 400, 'prompt'],
    ['/tokenize', { prompt: 'a', messages: [{ role: 'user', content: 'a' }] }, 400, 'prompt'],
    ['/tokenize', { prompt: ['a'] }, 400, 'prompt'],
    ['/tokenize', { prompt: 'a', add_special_tokens: 'yes' }, 400, 'add_special_tokens'],
    ['/tokenize', { prompt: 'a', return_token_strs: true }, 400, 'return_token_strs'],
    ['/tokenize', { prompt: 'a', model: 'other' }, 404, 'model'],
    [
      '/tokenize',
      { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
      400,
      'messages[0].content[0].type',
    ],
    ['/detokenize', {}, 400, 'tokens'],
    ['/detokenize', { tokens: 'a' }, 400, 'tokens'],
    ['/detokenize', { tokens: [1.5] }, 400, 'tokens[0]'],
    ['/detokenize', { tokens: [1, -1] }, 400, 'tokens[1]'],
    ['/detokenize', { tokens: [8192] }, 400, 'tokens'],
  ])('%s %j gives %i', async (url, payload, status, param) => {
    const reply = await post(embedded, url, payload);
    expect(reply.status).toBe(status);
    expect(reply.body.error).toMatchObject({ type: 'invalid_request_error', param });
  });

  it('tells that there is no chat template', async () => {
    const { status, body } = await post(withBos, '/tokenize', { messages: [{ role: 'user', content: 'a' }] });
    expect(status).toBe(400);
    expect(body.error.code).toBe('RXLLM_CHAT_TEMPLATE_MISSING');
  });
});
