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

it.each([
  ['regex', '['],
  ['regex', '(['],
  ['regex', '[\\'],
  ['ebnf', '"\\'],
  ['ebnf', '['],
  ['ebnf', '"'],
  ['regex', '{1,'],
] as const)('a %s of many unclosed %s is read in one pass', (notation, part) => {
  const start = performance.now();
  groupDepth(part.repeat(100_000), notation);
  expect(performance.now() - start).toBeLessThan(1000);
});

it('so is a count that goes on', () => {
  const start = performance.now();
  groupDepth(`a{1,${' '.repeat(100_000)}`, 'regex');
  groupDepth(`a{${'1'.repeat(100_000)}`, 'ebnf');
  expect(performance.now() - start).toBeLessThan(1000);
});
