import { expect, it } from 'vitest';
import { countedRepeats } from './counted-repeats.ts';

it.each([
  ['^a{3}b{2,5}$', 8],
  ['a{7,}', 7],
  ['a{1,100000}', 100_000],
  ['(a{3}){4}', 12],
  ['(?:a{3}|b{2}){4}c{5}', 25],
  ['((a{20}){20}){10}', 4000],
  ['((a{20})){20}', 400],
  ['(a{3}){2}(b{3}){2}', 12],
  ['(ab)+{3}', 3],
  ['\\{3}[{3}]a\\(b{2}\\)', 2],
  ['a{b}{', 0],
  ['(a{3}', 3],
  ['a{3})b{3}', 6],
])('the pattern %s repeats %i times', (pattern, count) => {
  expect(countedRepeats(pattern, 'regex')).toBe(count);
});

it.each([
  ['root ::= "a"{1,100000}', 100_000],
  ['root ::= ("a"{100} b){ 1 , 100 }\nb ::= [{9}]{3}', 10_003],
  ['root ::= ("a" {100}) {100}', 10_000],
  ['root ::= "{9} \\" {9}" # {9}\n', 0],
  ['root ::= "a" # three of it\n{3}', 3],
])('the grammar %j repeats %i times', (grammar, count) => {
  expect(countedRepeats(grammar, 'ebnf')).toBe(count);
});

it('deep nesting does not end the stack', () => {
  expect(countedRepeats(`${'('.repeat(20_000)}a${'){2}'.repeat(20_000)}`, 'regex')).toBe(Number.POSITIVE_INFINITY);
});
