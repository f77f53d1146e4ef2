import type { GrammarSource } from './grammar-source.ts';

/** `[FATAL] ` or `[12:00:00] `, and the place in XGrammar's own code. */
const PLACE = /^(?:\[[^\]]*\] )+(?:.*?\.(?:cc|cpp|h|hpp):\d+: )?/;
const CONDITION = /^Check failed: \(.*?\) is false:? ?/;
const IN_EBNF = /^EBNF (?:lexer|parser) error at (line \d+, column \d+): /;
const EMPTY = /^Expect element, but got\s*$/;

/** What XGrammar wrote to the console about a source, as it concerns its author: nothing of its own code and conditions. */
export function xgrammarProblem(lines: readonly string[], type: GrammarSource['type']): string {
  const fatal = lines.findLast((line) => line.startsWith('[FATAL]'));
  // Its stack or its memory has ended.
  if (fatal === undefined) return 'it is too much for XGrammar; let fewer of its parts lie in each other';
  const told = fatal.replace(PLACE, '').replace(CONDITION, '').replaceAll(/\s+/g, ' ').trim();
  const place = IN_EBNF.exec(told)?.[1];
  const problem = told.replace(IN_EBNF, '').trim();
  if (problem === '') return 'XGrammar does not understand it';
  // All but EBNF is made into a grammar first, whose lines nobody has written.
  const where = type === 'ebnf' && place !== undefined ? `${place}: ` : '';
  if (EMPTY.test(problem)) return `${where}${type === 'ebnf' ? 'something must stand here' : 'a part of it is empty'}`;
  return `${where}${problem.replace(/\.$/, '')}`;
}
