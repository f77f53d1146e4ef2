import { describe, expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import type { Engine } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { buildServer } from '../server.ts';
import { checkMessagesFit, checkTextFits } from './text-limit.ts';

/** Of 64 tokens; the longest one, id 7, is `word`, and nothing may be encoded. */
function engineOf4(): Engine {
  const fake = fakeEngine(() => say(['ok']));
  const tokenText = (id: number) => (id === 7 ? 'word' : String.fromCharCode(id));
  const refuse = () => expect.unreachable('a text that cannot fit was tokenized');
  return { ...fake, model: { ...fake.model, tokenizer: { ...fake.model.tokenizer, tokenText, encode: refuse } } };
}

const exceeded = expect.objectContaining({ code: 'RXLLM_CONTEXT_LENGTH_EXCEEDED' });
const refusal = (check: () => void): unknown => {
  try {
    return check();
  } catch (error) {
    return error;
  }
};

describe('what cannot fit', () => {
  const engine = engineOf4();

  it('is a text longer than the context in its longest tokens', () => {
    expect(refusal(() => checkTextFits('prompt', 'word'.repeat(64), engine))).toBeUndefined();
    expect(refusal(() => checkTextFits('prompt', `${'word'.repeat(64)}s`, engine))).toEqual(
      new RxllmError(
        'RXLLM_CONTEXT_LENGTH_EXCEEDED',
        'prompt: it has 257 characters; 64 tokens hold at most 256. Shorten it, or raise --max-model-len if the model allows.',
        { param: 'prompt' },
      ),
    );
    // Composed, it is as long as the limit.
    expect(refusal(() => checkTextFits('prompt', 'e\u0301'.repeat(256), engine))).toBeUndefined();
  });

  it('is more text in all messages, but for what a template leaves out', () => {
    const user = (content: string) => ({ role: 'user' as const, content });
    expect(refusal(() => checkMessagesFit([user('a'.repeat(200)), user('b'.repeat(56))], engine))).toBeUndefined();
    expect(refusal(() => checkMessagesFit([user('a'.repeat(200)), user('b'.repeat(57))], engine))).toEqual(exceeded);
    expect(refusal(() => checkMessagesFit([user(' '.repeat(999))], engine))).toBeUndefined();
    const thought = { role: 'assistant' as const, content: `<think>${'a'.repeat(999)}</think>So.` };
    expect(refusal(() => checkMessagesFit([thought], engine))).toBeUndefined();
    expect(refusal(() => checkMessagesFit(Array(65).fill(user('')), engine))).toEqual(exceeded);
  });

  it('is refused before it is tokenized', async () => {
    const app = buildServer({ engine: () => engine });
    const long = 'a'.repeat(100_000);
    for (const [url, payload, code, param] of [
      ['/v1/completions', { prompt: long }, 'RXLLM_CONTEXT_LENGTH_EXCEEDED', 'prompt'],
      ['/v1/completions', { prompt: ['a', long] }, 'RXLLM_CONTEXT_LENGTH_EXCEEDED', 'prompt'],
      [
        '/v1/chat/completions',
        { messages: [{ role: 'user', content: long }] },
        'RXLLM_CONTEXT_LENGTH_EXCEEDED',
        'messages',
      ],
      ['/tokenize', { messages: [{ role: 'user', content: long }] }, 'RXLLM_CONTEXT_LENGTH_EXCEEDED', 'messages'],
      ['/tokenize', { prompt: long }, 'RXLLM_INVALID_REQUEST', 'prompt'],
    ] as const) {
      const reply = await app.inject({ method: 'POST', url, payload });
      expect(reply.statusCode).toBe(400);
      expect(reply.json().error).toMatchObject({ code, param });
    }
    await app.close();
  });
});
