import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { byteGrammars } from '../../../test/support/byte-grammar.ts';
import type { JsonSchema } from '../contracts/index.ts';
import { createRandom } from '../sampling/random.ts';
import { TAGGED_CALL } from '../text/tool-call-form.ts';
import { grammarSource } from './grammar-source.ts';

const { texts } = await byteGrammars();
const COUNT = 40;

/** All with texts that end. */
const PATTERNS = [
  ...['[é-ü]', '[à-ÿ]{3}', '[é]{2}', '[éè]{2}', '[a-zà-ÿ]{6}', '[^—]', '[^é]{4}', '[^à-ÿ]{4}', '[\\u0400-\\u04ff]{2}'],
  ...[
    '[一-龥]{2}',
    '[0-9é-ü]{2}',
    '[^“”]{3}',
    '[😀-😎]+',
    '[\\u{1f600}-\\u{1f60e}]',
    '[^\\u0080-\\u{10ffff}]{6}',
    'é😀+',
  ],
  ...[
    '[^a-z—]{4}',
    '[^a-z]{5}',
    '\\W{5}',
    '\\S{5}',
    '\\s{3}',
    '\\D{4}',
    '[^\\d]{3}',
    '[^\\s]{3}',
    '[^\\S]{3}',
    '.{4}',
    '[^]{3}',
  ],
  ...[
    '[\\u0700-\\uffff]{2}',
    '\\n',
    '"',
    '\\\\',
    '["\\\\]{3}',
    'a"{2}b',
    '\\t+x',
    '[\\x01-\\x7f]{4}',
    '[^"]{3}',
    '\\/[/]',
  ],
  ...[
    '[\\d\\x1f]{4}',
    '[^\\x02-af]{4}',
    '\\u{10000}+',
    '^$',
    'é1',
    '[$^]{3}',
    '[\\^a]{3}',
    '[\\^]{2}',
    '[\\^-z]{3}',
    '[+--]{2}',
    '[\\]a\\-]{4}',
    '[^^]{3}',
    '\\-[\\-a]{2}',
    '[.]',
    '[|]{2}',
  ],
  ...[
    '(a|)b',
    '(|a)',
    '(a|){2}',
    '(?:a?)?b',
    'a{0}b',
    '(?:){3}c',
    '(ab|c){2}d?',
    '^(a|b)$',
    '(^a|b$)',
    '^a|b$',
    '(?<x>é|è)+?',
  ],
  ...['[\\w-]{3}', '[\\s\\S]{3}', '{', 'a{x}', ']', '\\x41\\u0042\\cA', 'x\\u2028', '[\\u2020-\\u2030]{2}'],
];

const regExp = (source: string) => {
  try {
    return new RegExp(source, 'u');
  } catch {
    return new RegExp(source);
  }
};

describe('every text that follows a grammar fits', () => {
  it.each(PATTERNS)('%s', async (pattern) => {
    const found = await texts(grammarSource({ type: 'regex', pattern }, TAGGED_CALL), COUNT, createRandom(1));
    expect(found.length).toBeGreaterThan(COUNT / 2);
    const fits = regExp(`^(?:${pattern})$`);
    expect(found.filter((text) => !fits.test(text))).toEqual([]);
  });

  it.each(PATTERNS)('%s in JSON', async (pattern) => {
    const schema = { type: 'string', pattern: `^(?:${pattern})$` };
    const found = await texts(grammarSource({ type: 'json_schema', schema }, TAGGED_CALL), COUNT, createRandom(2));
    expect(found.length).toBeGreaterThan(COUNT / 2);
    const fits = regExp(schema.pattern);
    expect(found.filter((text) => !fits.test(JSON.parse(text)))).toEqual([]);
  });

  it.each<JsonSchema>([
    { type: 'string', maxLength: 5 },
    { type: 'string', minLength: 2, maxLength: 2 },
    { type: 'string', maxLength: 0 },
    { type: 'string', minLength: 3 },
    { type: ['string', 'null'], maxLength: 3 },
    { type: 'string', pattern: '^$' },
    { type: 'string', pattern: 'é' },
    { type: 'string', enum: ['é', '—', '\u2028', '"\\\n'] },
    { type: 'string', format: 'json-pointer' },
    { type: 'string', format: 'relative-json-pointer' },
    { type: 'array', items: { type: 'string', maxLength: 3 }, minItems: 1, maxItems: 2 },
    {
      type: 'object',
      patternProperties: { '^"é?[à-ü]$': { type: 'string', pattern: '^[^a]$' } },
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
    },
  ])('%j', async (schema) => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const found = await texts(grammarSource({ type: 'json_schema', schema }, TAGGED_CALL), COUNT, createRandom(3));
    expect(found.length).toBeGreaterThan(3);
    for (const text of found) expect(ajv.validate(schema, JSON.parse(text)), text).toBe(true);
  });

  it.each([
    ['root ::= [^a-z]{3}', /^[^a-z]{3}$/u],
    ['root ::= ("é" | "—" | "😀"){3}', /^[é—😀]{3}$/u],
  ])('%s', async (grammar, fits) => {
    const found = await texts(grammarSource({ type: 'grammar', grammar }, TAGGED_CALL), COUNT, createRandom(4));
    expect(found.length).toBe(COUNT);
    expect(found.filter((text) => !fits.test(text))).toEqual([]);
  });

  it('choices that begin and end alike', async () => {
    const choices = ['xyzxyw', 'xyw', 'xy', '—é', '–é', '‐—é'];
    const found = await texts(grammarSource({ type: 'choice', choices }, TAGGED_CALL), 4 * COUNT, createRandom(5));
    expect(new Set(found)).toEqual(new Set(choices));
  });
});
