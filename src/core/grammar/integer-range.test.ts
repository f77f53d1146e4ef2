import { expect, it } from 'vitest';
import type { JsonSchema } from '../contracts/index.ts';
import { integerRanges, split } from './integer-range.ts';
import { toSchemaText } from './json-schema.ts';
import { loadXGrammar } from './xgrammar.ts';

it.each([
  [0, 120, '0..99 100..119 120..120'],
  [7, 7, '7..7'],
  [-5, 5, '-5..-1 0..5'],
  [-120, -7, '-120..-120 -119..-100 -99..-10 -9..-7'],
  [-10, 0, '-10..-10 -9..-1 0..0'],
  [99, 1001, '99..99 100..999 1000..1001'],
  [95, 12_349, '95..99 100..9999 10000..10999 11000..11999 12000..12099 12100..12199 12200..12299 12300..12349'],
  [
    123,
    43_278,
    '123..129 130..199 200..999 1000..9999 10000..39999 40000..40999 41000..41999 42000..42999 43000..43099 43100..43199 43200..43269 43270..43278',
  ],
])('%i to %i is split where more than one digit would have bounds', (least, most, ranges) => {
  expect(
    split(least, most)
      .map(([from, to]) => `${from}..${to}`)
      .join(' '),
  ).toBe(ranges);
});

const ends = (schema: { readonly [keyword: string]: unknown }) => {
  const { anyOf } = integerRanges(schema) as { anyOf: { minimum: number; maximum: number }[] };
  return [anyOf[0]?.minimum, anyOf.at(-1)?.maximum, anyOf.length];
};

it.each([
  [{ type: 'integer', minimum: 5 }, [5, 999_999_999_999_999, 2]],
  [{ type: 'integer', maximum: -5 }, [-999_999_999_999_999, -5, 2]],
  [{ type: 'integer', exclusiveMinimum: 5, exclusiveMaximum: 12 }, [6, 11, 2]],
  [{ type: 'integer', minimum: 3, exclusiveMinimum: 4.5, maximum: 9.5 }, [5, 9, 1]],
  [{ type: ['integer'], maximum: 2 ** 63, minimum: 1 }, [1, 999_999_999_999_999, 1]],
])('%j has these ends', (schema, expected) => {
  expect(ends(schema)).toEqual(expected);
});

it('keeps what else a schema allows', () => {
  expect(integerRanges({ type: ['integer', 'string'], minimum: 1, maximum: 9, maxLength: 3 })).toEqual({
    maxLength: 3,
    anyOf: [
      { type: 'integer', minimum: 1, maximum: 9 },
      { type: ['string'], maxLength: 3 },
    ],
  });
});

it.each([
  { type: 'integer' },
  { type: 'number', minimum: 1 },
  { type: ['integer', 'number'], minimum: 1 },
  { type: 'integer', minimum: 'a' },
  { type: 'integer', minimum: 3, maximum: 2 },
  { type: 'integer', minimum: 2, maximum: 3, enum: [2] },
  { type: 'integer', minimum: 2, $ref: '#' },
])('%j is left as it is', (schema) => {
  expect(integerRanges(schema)).toBeUndefined();
});

it('XGrammar makes neither more nor less of the ranges', async () => {
  const { GrammarCompiler, GrammarMatcher, TokenizerInfo } = loadXGrammar();
  const end = 11;
  const vocabulary = [...'0123456789-', ''];
  const info = await TokenizerInfo.createTokenizerInfo(vocabulary, 'raw', false, vocabulary.length, [end]);
  const compiler = await GrammarCompiler.createGrammarCompiler(info, false);

  /** Every text of the schema that has these characters only, by following every token of every mask. */
  const textsOf = async (schema: JsonSchema, characters = '0123456789-'): Promise<string[]> => {
    const grammar = await compiler.compileJSONSchema(toSchemaText(schema, true), false, -1, [', ', ': '], true);
    const texts: string[] = [];
    const follow = async (ids: readonly number[]): Promise<void> => {
      const matcher = await GrammarMatcher.createGrammarMatcher(grammar);
      for (const id of ids) matcher.acceptToken(id);
      const [mask] = await matcher.getNextTokenBitmask();
      matcher.dispose();
      for (const character of characters) {
        const id = vocabulary.indexOf(character);
        if ((mask! >> id) & 1 && ids.length < 20) await follow([...ids, id]);
      }
      if ((mask! >> end) & 1) texts.push(ids.map((id) => vocabulary[id]).join(''));
    };
    await follow([]);
    grammar.dispose();
    return texts;
  };

  const bounds: [number, number][] = [
    [0, 120],
    [109, 110],
    [-120, -7],
    [540, 564],
    [999, 1010],
    [-1500, 99],
    [-3, 104],
    [1990, 2031],
    [21, 2284],
    [-1003, 1205],
    [713, 1592],
  ];
  for (const [minimum, maximum] of bounds) {
    const numbers = (await textsOf({ type: 'integer', minimum, maximum })).map(Number);
    const expected = Array.from({ length: maximum - minimum + 1 }, (_, i) => minimum + i);
    expect(numbers.toSorted((a, b) => a - b)).toEqual(expected);
  }
  const nines = await textsOf({ type: 'integer', minimum: 0 }, '9');
  expect(nines).toEqual(Array.from({ length: 15 }, (_, i) => '9'.repeat(15 - i)));
});
