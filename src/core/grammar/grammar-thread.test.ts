import { describe, expect, it, vi } from 'vitest';
import { allowed, matcherOf, openingGrammars } from '../../../test/support/opened-grammars.ts';
import { embeddedModel } from '../../../test/support/real-server.ts';

const { tokenizer } = await embeddedModel();
const { tokens } = tokenizer.vocabulary();
const eosIds = [...tokenizer.eosIds];
const opened = openingGrammars();

describe('masks', () => {
  const grammars = opened();

  it('allow the tokens that a text can go on with, and at its end the end tokens alone', async () => {
    const matcher = await matcherOf(grammars, { type: 'choice', choices: ['fox', 'forest', 'owl'] });
    const words = ['fox', 'forest', 'owl'];
    const beginning = await allowed(matcher);
    const begins = tokens.map((token) => token !== '' && words.some((word) => word.startsWith(token)));
    expect(beginning).toEqual(begins.flatMap((begin, id) => (begin ? [id] : [])));
    for (const id of tokenizer.encode('owl')) matcher.accept(id);
    expect(await allowed(matcher)).toEqual(eosIds.toSorted((a, b) => a - b));
    matcher.accept(eosIds[0]!);
    expect(await allowed(matcher)).toEqual([]);
    matcher.dispose();
  });

  it('what XGrammar writes is in the error alone', async () => {
    const written = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')];
    const refused = matcherOf(grammars, { type: 'grammar', grammar: 'root ::= absent' });
    await expect(refused).rejects.toThrow('absent');
    // What a thread writes arrives by itself, and may be behind its answer.
    await new Promise((resolve) => setTimeout(resolve, 200));
    const lines = written.flatMap(({ mock }) => mock.calls.map(([chunk]) => String(chunk)));
    for (const spy of written) spy.mockRestore();
    expect(lines.filter((line) => line.includes('absent'))).toEqual([]);
  });

  it('never allow special tokens, nor ids without one', async () => {
    const matcher = await matcherOf(grammars, { type: 'regex', pattern: '.*' });
    const ids = await allowed(matcher);
    expect(ids).not.toContain(1);
    expect(ids).not.toContain(3);
    expect(ids).toContain(2);
    matcher.dispose();
  });

  it('are of the text alone: two texts over one grammar do not see each other', async () => {
    const [a, b] = await Promise.all([
      matcherOf(grammars, { type: 'regex', pattern: 'ab' }),
      matcherOf(grammars, { type: 'regex', pattern: 'ab' }),
    ]);
    const first = await allowed(a!);
    a!.accept(tokenizer.encode('a')[0]!);
    expect(await allowed(a!)).not.toEqual(first);
    expect(await allowed(b!)).toEqual(first);
    a!.dispose();
    b!.dispose();
  });

  it('a token that is not allowed breaks its own text only', async () => {
    const [a, b] = await Promise.all([
      matcherOf(grammars, { type: 'regex', pattern: 'ab' }),
      matcherOf(grammars, { type: 'regex', pattern: 'ab' }),
    ]);
    a!.accept(tokenizer.encode('x')[0]!);
    await expect(allowed(a!)).rejects.toThrow('is not one that the grammar allows here');
    expect(await allowed(b!)).not.toEqual([]);
    a!.dispose();
    b!.dispose();
  });

  it('multi-byte characters may come in parts', async () => {
    const matcher = await matcherOf(grammars, { type: 'choice', choices: ['é😀'] });
    for (const id of tokenizer.encode('é😀')) {
      expect(await allowed(matcher)).toContain(id);
      matcher.accept(id);
    }
    expect(await allowed(matcher)).toContain(eosIds[0]);
    matcher.dispose();
  });
});

describe('what cannot be compiled', () => {
  const grammars = opened();

  it.each([
    [{ type: 'json_schema', schema: { type: 'strin' } }, 'RXLLM_GRAMMAR_INVALID', 'Unsupported type "strin"'],
    [{ type: 'grammar', grammar: 'root ::= nope' }, 'RXLLM_GRAMMAR_INVALID', 'Rule "nope" is not defined'],
  ] as const)('%j is told in the words of its compiler, and without a path', async (format, code, words) => {
    const error = await matcherOf(grammars, format).catch((error: Error) => error);
    expect(error).toMatchObject({ code, param: 'responseFormat' });
    expect((error as Error).message).toContain(words);
    expect((error as Error).message).not.toMatch(/\.cc|\//);
  });

  it.each([
    { type: 'json_schema', schema: { $ref: '#' } },
    { type: 'grammar', grammar: 'root ::= root "a"' },
  ] as const)('%j, which no text fits, is refused', async (format) => {
    await expect(matcherOf(grammars, format)).rejects.toMatchObject({
      code: 'RXLLM_GRAMMAR_INVALID',
      message: expect.stringContaining('no text fits it'),
    });
  });

  it('a grammar that leads nowhere is refused where the text gets there', async () => {
    const matcher = await matcherOf(grammars, { type: 'grammar', grammar: 'root ::= "a" b | "d"\nb ::= b "c"' });
    expect(await allowed(matcher)).not.toEqual([]);
    matcher.accept(tokenizer.encode('a')[0]!);
    await expect(allowed(matcher)).rejects.toMatchObject({ code: 'RXLLM_GRAMMAR_INVALID' });
    matcher.dispose();
  });

  it('an empty text may be the only one', async () => {
    const matcher = await matcherOf(grammars, { type: 'grammar', grammar: 'root ::= ""' });
    expect(await allowed(matcher)).toEqual(eosIds.toSorted((a, b) => a - b));
    matcher.dispose();
  });

  it('what takes too long is ended', async () => {
    const slow = opened({ compileMs: 50 });
    const schema = { type: 'array', items: { type: 'string', maxLength: 60 }, minItems: 60, maxItems: 60 };
    await expect(matcherOf(slow, { type: 'json_schema', schema })).rejects.toMatchObject({
      code: 'RXLLM_GRAMMAR_TOO_LARGE',
    });
    expect(slow.size).toBe(0);
  });
});
