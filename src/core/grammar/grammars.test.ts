import { firstValueFrom } from 'rxjs';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { embeddedModel } from '../../../test/support/real-server.ts';
import { eventually } from '../../../test/support/waiting.ts';
import type { GrammarMatcher, TokenId } from '../contracts/index.ts';
import { grammarKey } from './grammar-key.ts';
import { type GrammarFormat, grammarSource } from './grammar-source.ts';
import { type GrammarLimits, Grammars, type WantedGrammar } from './grammars.ts';
import type { PackedVocabulary } from './thread-messages.ts';

const { tokenizer, config } = await embeddedModel();
const { tokens, encoding } = tokenizer.vocabulary();
const eosIds = [...tokenizer.eosIds];
const vocabulary: PackedVocabulary = { tokens: tokens.join('\0'), encoding, size: config.vocab, eosIds };

const all: Grammars[] = [];
const opened = (limits: Partial<GrammarLimits> = {}) => {
  const grammars = new Grammars(() => vocabulary, limits);
  all.push(grammars);
  return grammars;
};
afterAll(() => {
  for (const grammars of all) grammars.close();
});

const wanted = (format: GrammarFormat): WantedGrammar => ({
  key: grammarKey(format),
  source: () => grammarSource(format, tokenizer.toolCallForm),
});
const regex = (pattern: string) => wanted({ type: 'regex', pattern });
const matcherOf = (grammars: Grammars, format: GrammarFormat) => firstValueFrom(grammars.matcher(wanted(format)));

async function allowed(matcher: GrammarMatcher): Promise<TokenId[]> {
  await firstValueFrom(matcher.ready$);
  const mask = matcher.mask();
  return Array.from({ length: config.vocab }, (_, id) => id).filter((id) => (mask[id >> 5]! >>> (id & 31)) & 1);
}

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

describe('the cache', () => {
  it('compiles a grammar once, keeps those used last, and never drops one in use', async () => {
    const grammars = opened({ capacity: 2 });
    const [a, again] = await Promise.all([
      firstValueFrom(grammars.matcher(regex('a'))),
      firstValueFrom(grammars.matcher(regex('a'))),
    ]);
    expect(grammars.size).toBe(1);
    const b = await firstValueFrom(grammars.matcher(regex('b')));
    b.dispose();
    b.dispose();
    const c = await firstValueFrom(grammars.matcher(regex('c')));
    expect(grammars.size).toBe(2);
    expect((await allowed(a)).length).toBeGreaterThan(0);

    // Both are in use: the next waits until one is not.
    let d: GrammarMatcher | undefined;
    grammars.matcher(regex('d')).subscribe((matcher) => {
      d = matcher;
    });
    await allowed(c);
    expect(d).toBeUndefined();
    a.dispose();
    await allowed(again);
    expect(d).toBeUndefined();
    again.dispose();
    await eventually(() => expect(d).toBeDefined());
    expect(grammars.size).toBe(2);
  });

  it('the source of what is compiled is not asked for', async () => {
    const grammars = opened();
    const asked = vi.fn(regex('a').source);
    for (let i = 0; i < 2; i++) (await firstValueFrom(grammars.matcher({ key: 'a', source: asked }))).dispose();
    expect(asked).toHaveBeenCalledOnce();
  });

  it('who waits is bounded, and may leave', async () => {
    const grammars = opened({ capacity: 1, maxWaiting: 2 });
    const a = await firstValueFrom(grammars.matcher(regex('a')));
    const waiting = [regex('b'), regex('c')].map((one) => grammars.matcher(one).subscribe());
    await expect(firstValueFrom(grammars.matcher(regex('d')))).rejects.toMatchObject({ code: 'RXLLM_QUEUE_FULL' });
    for (const one of waiting) one.unsubscribe();
    const next = firstValueFrom(grammars.matcher(regex('d')));
    a.dispose();
    (await next).dispose();
    expect(grammars.size).toBe(1);
  });

  it('what is compiled for nobody is ended, and makes room', async () => {
    const grammars = opened({ maxCompiling: 1 });
    const schema = { type: 'array', items: { type: 'string', maxLength: 60 }, minItems: 60, maxItems: 60 };
    const large = grammars.matcher(wanted({ type: 'json_schema', schema }));
    const [first, second] = [large.subscribe(), large.subscribe()];
    const next = firstValueFrom(grammars.matcher(regex('e')));
    first.unsubscribe();
    expect(grammars.size).toBe(1);
    second.unsubscribe();
    (await next).dispose();
    // Compiled to its end, the first would be kept too.
    expect(grammars.size).toBe(1);
  });

  it('who comes after that begins anew', async () => {
    const grammars = opened({ maxCompiling: 1 });
    grammars.matcher(regex('f')).subscribe().unsubscribe();
    expect(grammars.size).toBe(0);
    (await firstValueFrom(grammars.matcher(regex('f')))).dispose();
    expect(grammars.size).toBe(1);
  });

  it('closing ends what waits and what is followed', async () => {
    const grammars = opened({ capacity: 1 });
    const a = await firstValueFrom(grammars.matcher(regex('a')));
    const waiting = firstValueFrom(grammars.matcher(regex('b')));
    grammars.close();
    await expect(waiting).rejects.toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
    a.accept(tokenizer.encode('a')[0]!);
    await expect(allowed(a)).rejects.toMatchObject({ code: 'RXLLM_RUNTIME_FAILED' });
    await expect(firstValueFrom(grammars.matcher(regex('a')))).rejects.toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
  });
});

describe('fairness', () => {
  const open = (grammars: Grammars, pattern: string) => firstValueFrom(grammars.matcher(regex(pattern)));
  const schema = { type: 'array', items: { type: 'string', maxLength: 60 }, minItems: 60, maxItems: 60 };
  const slow = wanted({ type: 'json_schema', schema });

  it('who asks for what is compiled waits neither for a compiler nor in the queue', async () => {
    const grammars = opened({ maxCompiling: 1, maxWaiting: 1 });
    (await open(grammars, 'a')).dispose();
    const waiting = grammars.matcher(slow).subscribe();
    let a: GrammarMatcher | undefined;
    grammars.matcher(regex('a')).subscribe((matcher) => {
      a = matcher;
    });
    expect(a).toBeDefined();
    expect((await allowed(a!)).length).toBeGreaterThan(0);
    waiting.unsubscribe();
    a!.dispose();
  });

  it('what has been compiled for someone is not dropped before they have it', async () => {
    const grammars = opened({ capacity: 1, maxCompiling: 1 });
    const given: string[] = [];
    const ask = (pattern: string) =>
      grammars.matcher(regex(pattern)).subscribe((matcher) => {
        given.push(pattern);
        matcher.dispose();
      });
    const first = ask('a');
    ask('b');
    ask('a');
    first.unsubscribe();
    await eventually(() => expect(given).toHaveLength(2));
    expect(given).toEqual(['a', 'b']);
  });

  it('a new grammar gets its turn though those that are kept are always in use', async () => {
    const grammars = opened({ capacity: 2 });
    let [a, b] = [await open(grammars, 'a'), await open(grammars, 'b')];
    let hadTurn = false;
    grammars.matcher(regex('c')).subscribe((matcher) => {
      hadTurn = true;
      matcher.dispose();
    });
    // Whoever leaves is followed, before that, by another.
    const next = async (pattern: string, left: GrammarMatcher) => {
      const following = open(grammars, pattern);
      setTimeout(() => left.dispose(), 10);
      return following;
    };
    for (let i = 0; i < 3; i++) [a, b] = await Promise.all([next('a', a), next('b', b)]);
    expect(hadTurn).toBe(true);
    for (const matcher of [a, b]) matcher.dispose();
  });

  it('one that was to make room is given again when nobody needs it any more', async () => {
    const grammars = opened({ capacity: 1 });
    const a = await open(grammars, 'a');
    const waiting = grammars.matcher(regex('b')).subscribe();
    const again = open(grammars, 'a');
    waiting.unsubscribe();
    (await again).dispose();
    a.dispose();
  });
});
