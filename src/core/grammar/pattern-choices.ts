import { firstBytes, keptApart } from './kept-apart.ts';

/** A rule of its own that allows the empty text alone. */
const EMPTY = '(?:a{0})?';
/** An escape, a class or a character; of what a group begins with nothing is said. */
const FIRST = /^(?:\\.|\[[^\]]*\]|[^(])/su;
/** Of a part of a class, which is a group of one alternative at most. */
const FIRST_OF_PART = /^(?:\(\?:)?(\\.|\[[^\]]*\]|.)/su;
/** A class any number of times and then once more: at the beginning of a rule, XGrammar takes the once for none. */
const ANY_THEN_ONE = /^(?:\(\?:)*(\[[^\]]*\])\*[():?]*\1/;

/** A pattern as it is printed that XGrammar does not mix with others that it stands beside. */
export const apart = (pattern: string): string => `${EMPTY}${pattern}`;

/** The alternatives of one, kept apart where XGrammar might mix them. */
export function alternativesApart(alternatives: readonly string[]): string[] {
  const some = alternatives.map((one) => (ANY_THEN_ONE.test(one) ? apart(one) : one));
  return keptApart(some, EMPTY, (one) => {
    const [first] = FIRST.exec(one) ?? [];
    return first && firstBytes(first);
  });
}

/** The parts of a class, too. */
export function partsApart(parts: readonly string[]): string[] {
  return keptApart(parts, EMPTY, (one) => firstBytes(FIRST_OF_PART.exec(one)![1]!));
}
