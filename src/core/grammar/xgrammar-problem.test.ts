import { expect, it } from 'vitest';
import { xgrammarProblem } from './xgrammar-problem.ts';

const AT = '/home/some one/xgrammar/cpp';

it.each([
  ['json', `[FATAL] ${AT}/json_schema_converter.cc:902: Unsupported type "strin"`, 'Unsupported type "strin"'],
  [
    'json',
    `[FATAL] ${AT}/a.cc:961: Check failed: (current.get().is<picojson::object>() && x.contains(part)) is false: Cannot find field nope in {"$ref":"#\\/nope"}`,
    'Cannot find field nope in {"$ref":"#\\/nope"}',
  ],
  ['json', `[FATAL] [12:00:00] ${AT}/a.h:1: Check failed: (value) is false`, 'XGrammar does not understand it'],
  [
    'json',
    `[FATAL] ${AT}/grammar_parser.cc:552: EBNF parser error at line 12, column 1: Expect element, but got `,
    'a part of it is empty',
  ],
  [
    'regex',
    `[FATAL] ${AT}/regex_converter.cc:75: Regex parsing error at position 3: The parenthesis is not closed.`,
    'Regex parsing error at position 3: The parenthesis is not closed',
  ],
  [
    'regex',
    `[FATAL] ${AT}/grammar_parser.cc:552: EBNF parser error at line 1, column 10: Expect element, but got *`,
    'Expect element, but got *',
  ],
  [
    'ebnf',
    `[FATAL] ${AT}/grammar_parser.cc:552: EBNF parser error at line 1, column 10: Rule "nope" is not defined`,
    'line 1, column 10: Rule "nope" is not defined',
  ],
  [
    'ebnf',
    `[FATAL] ${AT}/grammar_parser.cc:552: EBNF parser error at line 1, column 10: Expect element, but got `,
    'line 1, column 10: something must stand here',
  ],
] as const)('%s: %s', (type, line, problem) => {
  expect(xgrammarProblem(['[WARNING] x.cc:1: before', line, 'Aborted()'], type)).toBe(problem);
});

it('what ends XGrammar without a word is too much for it', () => {
  const problem = 'it is too much for XGrammar; let fewer of its parts lie in each other';
  expect(xgrammarProblem([], 'json')).toBe(problem);
  expect(xgrammarProblem(['[WARNING] /a/b.cc:1: only a warning', 'Aborted()'], 'json')).toBe(problem);
});
