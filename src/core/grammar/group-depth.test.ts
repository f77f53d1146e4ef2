import { expect, it } from 'vitest';
import { groupDepth } from './group-depth.ts';

it.each([
  ['a', 0],
  ['(a)(b)', 1],
  ['((a)|(?:b(c)))', 3],
  ['\\(\\([((]()', 1],
  ['))(a', 1],
])('the groups of the pattern %s lie %i deep', (pattern, depth) => {
  expect(groupDepth(pattern, 'regex')).toBe(depth);
});

it.each([
  ['root ::= ("a" ("b" | "(("))', 2],
  ['root ::= "a" # (((\n', 0],
  ['root ::= "\\"((" [((] ("b")', 1],
])('those of the grammar %j %i deep', (grammar, depth) => {
  expect(groupDepth(grammar, 'ebnf')).toBe(depth);
});

// Read again from each of its characters, a text of a million would take minutes: more than a test may.
it.each([
  ['regex', '[', 0],
  ['regex', '([', 1],
  ['regex', '[\\', 0],
  ['ebnf', '"\\', 0],
  ['ebnf', '[', 0],
  ['ebnf', '"', 0],
  ['regex', '{1,', 0],
  ['regex', '{1,(', 1_000_000],
] as const)('a %s of many unclosed %s is read in one pass', (notation, part, depth) => {
  expect(groupDepth(part.repeat(1_000_000), notation)).toBe(depth);
});

it('so is a count that goes on', () => {
  expect(groupDepth(`a{1,${' '.repeat(1_000_000)}(`, 'regex')).toBe(1);
  expect(groupDepth(`a{${'1'.repeat(1_000_000)}(`, 'ebnf')).toBe(1);
});
