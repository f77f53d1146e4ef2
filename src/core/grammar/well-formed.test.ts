import { expect, it } from 'vitest';
import { refuseHalfCharacters } from './well-formed.ts';

it.each([
  { type: 'choice', choices: ['fox', 'a\ud800'] },
  { type: 'regex', pattern: '\udc00' },
  { type: 'regex', pattern: '[a\\ud83d]' },
  { type: 'regex', pattern: '\\\\\\u{D83D}' },
  { type: 'grammar', grammar: 'root ::= "\\ud800"' },
  { type: 'json_schema', schema: { const: '\ud800' } },
  { type: 'json_schema', schema: { properties: { '\ud800': true } } },
  { type: 'json_schema', schema: { anyOf: [{ pattern: '\\ud800' }] } },
])('%j has half a character', (format) => {
  expect(() => refuseHalfCharacters(format)).toThrow(
    expect.objectContaining({
      code: 'RXLLM_GRAMMAR_INVALID',
      message: expect.stringContaining('half of a surrogate pair'),
    }),
  );
});

it.each([
  { type: 'choice', choices: ['😀é', 'the text \\ud800'] },
  { type: 'regex', pattern: '\\\\ud800' },
  { type: 'regex', pattern: '\\u00e9\\ud7ff\\u000d8ff' },
  { type: 'json_schema', schema: { const: '\\ud800', default: null, maxLength: 3 } },
])('%j has not', (format) => {
  expect(() => refuseHalfCharacters(format)).not.toThrow();
});
