import { groupBy } from '../group-by.ts';

/**
 * Alternatives, those that may begin alike behind an `empty` part each, which is a rule of its own to XGrammar. It makes
 * an automaton of each rule, and in one step takes together the places behind what begins alike and those before what ends
 * alike: of "xyzxyw" and "xyw" side by side it makes one that allows "xyzxyzxyw".
 * @param beginning What an alternative begins with; undefined where that is not plain
 */
export function keptApart(
  alternatives: Iterable<string>,
  empty: string,
  beginning: (alternative: string) => string | undefined,
): string[] {
  const some = [...new Set(alternatives)];
  const alike = groupBy(some, (one) => beginning(one) ?? '');
  const isPlain = (one: string) => beginning(one) !== undefined && alike.get(beginning(one)!)!.length === 1;
  return some.map((one) => (some.length === 1 || isPlain(one) ? one : `${empty}${one}`));
}

/** What tells a beginning from others: of a character of three bytes or more the first two, for one alike does no harm. */
export const firstBytes = (beginning: string): string =>
  /^[\u0800-\u{10ffff}]/u.test(beginning) ? Buffer.from(beginning).toString('latin1', 0, 2) : beginning;
