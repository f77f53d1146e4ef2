import { describe, expect, it } from 'vitest';
import { byteGrammars } from '../../../test/support/byte-grammar.ts';
import type { JsonSchema } from '../contracts/index.ts';
import { createRandom } from '../sampling/random.ts';
import { TAGGED_CALL } from '../text/tool-call-form.ts';
import { type GrammarFormat, grammarSource } from './grammar-source.ts';

const { allTexts } = await byteGrammars();
const follow = (format: GrammarFormat, longest: number) => allTexts(grammarSource(format, TAGGED_CALL), longest);

/** Every text of these characters of at most so many bytes, sorted. */
function textsOf(characters: readonly string[], longest: number): string[] {
  const found = [''];
  for (const text of found) {
    for (const one of characters) if (Buffer.byteLength(text + one) <= longest) found.push(text + one);
  }
  return found.sort();
}

/** Draws at random. */
function drawing(seed: number) {
  const random = createRandom(seed);
  const below = (end: number) => Math.floor(random() * end);
  const pick = <T>(some: readonly T[]): T => some[below(some.length)]!;
  const several = (least: number, most: number, draw: () => string) =>
    Array.from({ length: least + below(most - least + 1) }, draw);
  return { below, pick, several };
}

const ASCII = textsOf(['a', 'b', 'c'], 7);
const WIDE = textsOf(['a', '—', '–', '〔', 'é'], 9);

/** Alternatives of which many begin and end alike, in groups that lie in each other. */
function drawnPattern(seed: number, units: readonly string[]): string {
  const { below, pick, several } = drawing(seed);
  const alternatives = (depth: number): string => several(1, 4, () => sequence(depth)).join('|');
  const sequence = (depth: number): string =>
    several(0, 5, () => {
      if (depth === 0 || below(4) > 0) return pick(units);
      return `(${alternatives(depth - 1)})${pick(['', '', '*', '+', '?', '{1,2}', '{2}'])}`;
    }).join('');
  return alternatives(2);
}

describe('of patterns, exactly the texts that fit are allowed', () => {
  const fitting = (pattern: string, texts: readonly string[]) => {
    const regExp = new RegExp(`^(?:${pattern})$`, 'u');
    return texts.filter((text) => regExp.test(text));
  };

  it.each([
    ['xyzxyw|xyw', ['xyw', 'xyzxyw']],
    ['(xyzx|x)yw', ['xyw', 'xyzxyw']],
    ['a((xyzxy|xy)w|w)', ['aw', 'axyw', 'axyzxyw']],
    ['[xX]yz[x]yw|[x]yw', ['Xyzxyw', 'xyw', 'xyzxyw']],
    ['(xyzx|x)yw{1,2}', ['xyw', 'xyww', 'xyzxyw', 'xyzxyww']],
    ['东|丝|中东', ['东', '丝', '中东']],
  ])('%s', async (pattern, texts) => {
    expect(await follow({ type: 'regex', pattern }, 20)).toEqual(texts.toSorted());
    const schema = { type: 'string', pattern: `^(${pattern})$` };
    const inJson = await follow({ type: 'json_schema', schema }, 20);
    expect(inJson.map((text) => JSON.parse(text)).sort()).toEqual(texts.toSorted());
  });

  it.each(['ab|[ab]b[ab]|[ab]bb', '[ab]*[ab]c', '([ab]*[ab]){2}', '(abca|a)*b'])('%s', async (pattern) => {
    expect(await follow({ type: 'regex', pattern }, 7)).toEqual(fitting(pattern, ASCII));
    const schema = { type: 'string', pattern: `^(${pattern})$` };
    const inJson = await follow({ type: 'json_schema', schema }, 9);
    expect(inJson.map((text) => JSON.parse(text)).sort()).toEqual(fitting(pattern, ASCII));
  });

  it('drawn at random', async () => {
    for (let seed = 1; seed <= 200; seed++) {
      const pattern = drawnPattern(seed, ['a', 'b', 'a', 'b', 'c', '[ab]', '[ab]*']);
      expect(await follow({ type: 'regex', pattern }, 7), pattern).toEqual(fitting(pattern, ASCII));
    }
  });

  it('drawn at random, beyond ASCII', async () => {
    for (let seed = 1; seed <= 100; seed++) {
      const pattern = drawnPattern(seed, ['a', '—', '–', '〔', '[—–〔]', '[é–]']);
      expect(await follow({ type: 'regex', pattern }, 9), pattern).toEqual(fitting(pattern, WIDE));
    }
  });

  it('alternatives of a JSON string stand between its quotes', async () => {
    expect(await follow({ type: 'json_schema', schema: { type: 'string', pattern: '^ab$|^c$' } }, 9)).toEqual([
      '"ab"',
      '"c"',
    ]);
  });

  it('names of properties are not mixed', async () => {
    const patterns = ['abcdezabcdew', 'abcdew'];
    const schema = {
      type: 'object',
      patternProperties: Object.fromEntries(patterns.map((pattern) => [`^${pattern}$`, { type: 'null' }])),
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
    };
    const names = (await follow({ type: 'json_schema', schema }, 40)).flatMap((text) => Object.keys(JSON.parse(text)));
    expect(names.sort()).toEqual(patterns.toSorted());
  });
});

describe('of values that are listed, exactly those are allowed', () => {
  const distinct = (values: readonly unknown[]) => [...new Set(values.map((value) => JSON.stringify(value)))].sort();

  it('choices', async () => {
    for (let seed = 1; seed <= 100; seed++) {
      const { pick, several } = drawing(seed);
      const choices = several(2, 5, () => several(1, 4, () => pick(['a', '—', '–', '〔'])).join(''));
      expect(await follow({ type: 'choice', choices }, 20), `${choices}`).toEqual([...new Set(choices)].sort());
    }
  });

  const drawnValues = (seed: number): unknown[] => {
    const { pick, several } = drawing(seed);
    const text = () => several(0, 7, () => pick(['a', 'b'])).join('');
    const wide = () => several(0, 4, () => pick(['—', '–', '〔'])).join('');
    const digits = () => several(1, 7, () => pick(['1', '2'])).join('');
    return several(2, 5, pick([text, wide, digits])).map((one) => (/^\d/.test(one) ? Number(one) : one));
  };

  it.each<[string, (values: readonly unknown[]) => JsonSchema]>([
    ['enum', (values) => ({ enum: values })],
    ['enum of a type', (values) => ({ type: ['string', 'integer'], enum: values, title: 'one of them' })],
    ['anyOf', (values) => ({ anyOf: values.map((value) => ({ const: value })) })],
    [
      'anyOf of allOf',
      ([first, ...others]) => ({
        anyOf: [{ allOf: [{ enum: [first] }] }, ...others.map((value) => ({ const: value }))],
      }),
    ],
    ['oneOf', (values) => ({ oneOf: [{ enum: values.slice(1) }, { const: values[0] }, { enum: [values[0]] }] })],
  ])('%s', async (_, schemaOf) => {
    for (let seed = 1; seed <= 100; seed++) {
      const values = drawnValues(seed);
      const schema = schemaOf(values);
      expect(await follow({ type: 'json_schema', schema }, 24), JSON.stringify(schema)).toEqual(distinct(values));
    }
  });
});
