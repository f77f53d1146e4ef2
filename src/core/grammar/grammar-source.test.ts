import { expect, it } from 'vitest';
import { BARE_CALL, TAGGED_CALL } from '../text/tool-call-form.ts';
import { type GrammarFormat, grammarSource, MAX_GRAMMAR_LENGTH, MAX_REPEATS } from './grammar-source.ts';
import { repeats } from './repeats.ts';

it('choices are quoted', () => {
  const source = grammarSource({ type: 'choice', choices: ['a "b"\n\\', 'c'] }, TAGGED_CALL);
  expect(source).toEqual({ type: 'ebnf', text: 'root ::= "a \\"b\\"\\n\\\\" | "c"' });
});

it('calls have the form of the model, and any object where a tool does not say what it takes', () => {
  const tools = [{ name: 'f' }, { name: 'g', parameters: { type: 'object' } }];
  expect(grammarSource({ type: 'tool_calls', tools, required: true, parallel: false }, BARE_CALL)).toEqual({
    type: 'tool_calls',
    form: BARE_CALL,
    required: true,
    parallel: false,
    tools: [
      { name: 'f', arguments: { type: 'json', schema: '{"type":"object"}', open: true } },
      { name: 'g', arguments: { type: 'json', schema: '{"type":"object"}', open: false } },
    ],
  });
});

it.each([
  ['json_schema', { schema: { type: 'string', maxLength: 5000 } }, 'maxItems of the schema'],
  ['regex', { pattern: 'a{5000}' }, 'shorten the pattern'],
  ['grammar', { grammar: 'root ::= "a"{5000}' }, 'fewer rules'],
  ['tool_calls', { tools: [{ name: 'f', parameters: { maxLength: 5000 } }] }, 'fewer tools'],
] as const)('how a %s gets smaller is said in its own words', (type, rest, words) => {
  const format = { type, required: false, parallel: true, ...rest } as GrammarFormat;
  expect(() => grammarSource(format, TAGGED_CALL)).toThrow(words);
});

it('half a character is refused in a choice, too', () => {
  expect(() => grammarSource({ type: 'choice', choices: ['a\ud800'] }, TAGGED_CALL)).toThrow(
    expect.objectContaining({ code: 'RXLLM_GRAMMAR_INVALID', param: 'responseFormat' }),
  );
});

it.each([
  { type: 'json_schema', schema: { description: 'x'.repeat(MAX_GRAMMAR_LENGTH) } },
  { type: 'json_schema', schema: { type: 'string', maxLength: MAX_REPEATS + 1 } },
  { type: 'regex', pattern: '(a{100}){100}' },
  { type: 'regex', pattern: '((a{100})){100}' },
  { type: 'grammar', grammar: 'root ::= "a"{1,100000}' },
  { type: 'grammar', grammar: 'root ::= ("a"{100} " "){100}' },
  { type: 'grammar', grammar: `root ::= "${'x'.repeat(MAX_GRAMMAR_LENGTH)}"` },
  { type: 'tool_calls', tools: [{ name: 'f', parameters: { maxLength: 5000 } }], required: false, parallel: true },
] as const)('%# is too large', (format) => {
  expect(() => grammarSource(format, TAGGED_CALL)).toThrow(
    expect.objectContaining({ code: 'RXLLM_GRAMMAR_TOO_LARGE', param: 'responseFormat' }),
  );
});

it.each([
  [{ type: 'string', maxLength: 20 }, 20],
  [{ type: 'string', minLength: 30 }, 30],
  [{ pattern: '^a{3}b{2,5}$' }, 8],
  [{ pattern: '(a{3}){4}' }, 12],
  [{ type: 'array', items: { type: 'string', maxLength: 9 }, maxItems: 10 }, 100],
  [{ properties: { a: { maxLength: 3 }, b: { maxLength: 4 } } }, 7],
  [{ anyOf: [{ maxLength: 3 }, { maxLength: 4 }] }, 7],
  [true, 0],
] as const)('%j repeats %i times', (schema, count) => {
  expect(repeats(schema)).toBe(count);
});

it('nesting that never ends is counted all the same', () => {
  let schema: object = { type: 'string' };
  for (let depth = 0; depth < 10_000; depth++) schema = { items: schema, maxItems: 2 };
  expect(repeats(schema)).toBeGreaterThan(MAX_REPEATS);
});
