import { describe, expect, it } from 'vitest';
import { toXGrammarPattern } from './pattern.ts';

it.each([
  ['^(a|b){2}c?$', '(?:a|b){2}c?'],
  ['a{1}b{0}c{0,1}d{2,}e{2,3}f*?', 'ac?d{2,}e{2,3}f*'],
  ['(a|)b', '(?:a)?b'],
  ['(a|){2}', '(?:(?:a)?){2}'],
  ['(|)', ''],
  ['^$', ''],
  ['(^a|b$)', '(?:a|b)'],
  ['\\-\\/\\.é\\x41', '-\\/\\.éA'],
  ['-\\.😀', '-\\.😀'],
  ['[a-z]', '[a-z]'],
  ['[\\^]', '\\^'],
  ['[\\^-b]', '[a-b\\u005f-\\u0060\\u005e]'],
  ['[é]', 'é'],
  ['[aéè]', '(?:a|è|é)'],
  ['[éè]{2}', '(?:è|é){2}'],
  ['[а-я]', '(?:(?:[\\u00d0\\u00d0][\\u00b0-\\u00bf])|(?:[\\u00d1\\u00d1][\\u0080-\\u008f]))'],
  ['[^a]', '[^a\\u0000]'],
  ['\\d\\w\\s', '[0-9][0-9A-Za-z\\u005f][\\u0009-\\u000d\\u0020]'],
  ['.', '[^\\u0000\\u000a\\u000d]'],
  ['\\u{1f600}', '😀'],
])('%s is written %s', (pattern, written) => {
  expect(toXGrammarPattern(pattern, 'text')).toBe(written);
});

it.each([
  ['a"', 'a(?:\\\\")'],
  ['"{2}', '(?:\\\\"){2}'],
  ['\\\\', '(?:\\\\\\\\)'],
  ['\\n\\x01', '(?:\\\\n)(?:\\\\u0001)'],
  ['[a"]', '(?:a|(?:\\\\"))'],
  ['[^a]', '[^a\\u0000-\\u001f\\u0022\\u005c]'],
  ['.', '[^\\u0000-\\u001f\\u0022\\u005c]'],
  ['\\s', ' '],
])('in JSON, %s is written %s', (pattern, written) => {
  expect(toXGrammarPattern(pattern, 'json')).toBe(written);
});

describe('refused, in words that say why', () => {
  it.each([
    ['[a-z', 'Unterminated character class'],
    ['(a', 'Unterminated group'],
    ['a**', 'Nothing to repeat'],
    ['😀\\-', 'Invalid escape; leave out backslashes that are not needed'],
    ['a^b', '"^" cannot be enforced here; only ^ at the beginning and $ at the end can be'],
    ['(^a|b$)c', '"$" cannot be enforced here'],
    ['(^a)*', '"^" cannot be enforced here'],
    ['(?=a)b', '"(?=a)" cannot be enforced here'],
    ['\\bfox\\b', '"\\b" cannot be enforced here'],
    ['(a)\\1', '"\\1" cannot be enforced; write out'],
    ['\\p{L}+', '"\\p{L}" cannot be enforced; write the ranges that you mean'],
    ['\\A', '"\\A" is no escape; write the letter without its backslash'],
    ['[]', 'no character that can be written fits "[]"'],
    ['[^\\s\\S]', 'no character that can be written fits'],
    ['\\0', 'U+0000 cannot be enforced'],
    [
      `[${Array.from({ length: 600 }, (_, at) => String.fromCodePoint(0x4e00 + 3 * at)).join('')}]`,
      'is too many characters',
    ],
  ])('%s', (pattern, words) => {
    expect(() => toXGrammarPattern(pattern, 'text')).toThrow(
      expect.objectContaining({
        code: 'RXLLM_GRAMMAR_INVALID',
        param: 'responseFormat',
        message: expect.stringContaining(words),
      }),
    );
  });

  it('what lies in each other too deep', () => {
    const pattern = `${'('.repeat(20_000)}a${')'.repeat(20_000)}`;
    expect(() => toXGrammarPattern(pattern, 'json')).toThrow(
      expect.objectContaining({ code: 'RXLLM_GRAMMAR_TOO_LARGE' }),
    );
  });
});
