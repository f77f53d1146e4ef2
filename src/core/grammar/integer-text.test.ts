import { expect, it } from 'vitest';
import { byteGrammars } from '../../../test/support/byte-grammar.ts';
import type { JsonSchema } from '../contracts/index.ts';
import { createRandom } from '../sampling/random.ts';
import { TAGGED_CALL } from '../text/tool-call-form.ts';
import { grammarSource } from './grammar-source.ts';
import { fillRanges, split } from './integer-text.ts';

it.each([
  [0, 120, '0..0 1..99 100..119 120..120'],
  [7, 7, '7..7'],
  [-5, 5, '-5..-1 0..0 1..5'],
  [-120, -7, '-120..-120 -119..-100 -99..-10 -9..-7'],
  [-10, 0, '-10..-10 -9..-1 0..0'],
  [99, 1001, '99..99 100..999 1000..1001'],
  [95, 12_349, '95..99 100..9999 10000..11999 12000..12299 12300..12349'],
  [
    123,
    43_278,
    '123..129 130..199 200..999 1000..9999 10000..39999 40000..42999 43000..43199 43200..43269 43270..43278',
  ],
])('%i to %i is split where more than one digit would have bounds', (least, most, ranges) => {
  const parts = split(least, most);
  expect(parts.map(([from, to]) => `${from}..${to}`).join(' ')).toBe(ranges);
});

it('is written in the place of its mark', () => {
  expect(fillRanges(String.raw`root ::= (("\"\ufdd0-3 to 12349\""))`)).toBe(
    'root ::= (((""? "-" [1-3] | ""? "0" | ""? [1-9] [0-9]{0,3} | ""? "1" [0-1] [0-9]{3,3} | ""? "12" [0-2] [0-9]{2,2} | ""? "123" [0-4] [0-9]{1,1})))',
  );
});

const { allTexts } = await byteGrammars();
const textsOf = (schema: JsonSchema, longest: number) =>
  allTexts(grammarSource({ type: 'json_schema', schema, strict: true }, TAGGED_CALL), longest);
const numbers = (least: number, most: number) => Array.from({ length: most - least + 1 }, (_, i) => String(least + i));

it.each([
  [0, 120],
  [-120, -7],
  [-1500, 99],
  [21, 2284],
  [14_999, 15_999],
  [1024, 65_535],
  [-20_000, -15_000],
])('%i to %i allows these numbers and no other', async (minimum, maximum) => {
  expect(await textsOf({ type: 'integer', minimum, maximum }, 8)).toEqual(numbers(minimum, maximum).sort());
});

it('ranges and values side by side are not mixed', async () => {
  const random = createRandom(1);
  const below = (end: number) => Math.floor(random() * end);
  for (let i = 0; i < 60; i++) {
    const ranges = [0, 1].map(() => below(300)).map((from): [number, number] => [from, from + below(100)]);
    const values = [below(400), below(400)];
    const [first, second] = ranges.map(([minimum, maximum]) => ({ minimum, maximum }));
    const schema = {
      anyOf: [
        { type: 'integer', ...first },
        { type: ['integer', 'null'], ...second },
        { enum: values.slice(0, 1) },
        { const: values[1] },
      ],
    };
    const fitting = new Set([...ranges.flatMap(([from, to]) => numbers(from, to)), ...values.map(String), 'null']);
    expect(await textsOf(schema, 6), JSON.stringify(schema)).toEqual([...fitting].sort());
  }
});

it('a bound alone leaves 15 digits', async () => {
  const texts = await textsOf({ type: 'integer', minimum: 999_999_999_999_990 }, 20);
  expect(texts).toEqual(numbers(999_999_999_999_990, 999_999_999_999_999));
});
