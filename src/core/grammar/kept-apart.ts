import { groupBy } from '../group-by.ts';

/**
 * Alternatives, those that may begin alike behind an `empty` part each, which is a rule of its own to XGrammar. When that
 * minimises a rule's automaton, it merges states reached by the same prefix and states that lead to the same suffix in one
 * step: of "xyzxyw" and "xyw" side by side it makes one that allows "xyzxyzxyw".
 * @param beginning What an alternative begins with; undefined where that is not plain
 */
export function keptApart(
  alternatives: Iterable<string>,
  empty: string,
  beginning: (alternative: string) => string | undefined,
): string[] {
  const some = [...new Set(alternatives)];
  const beginnings = some.map(beginning);
  const alike = groupBy(beginnings, (one) => one ?? '');
  const isAlone = (one: string | undefined) => some.length === 1 || (one !== undefined && alike.get(one)!.length === 1);
  return some.map((one, at) => (isAlone(beginnings[at]) ? one : `${empty}${one}`));
}

/** What tells a beginning from others: of a character of three bytes or more the first two, for one alike does no harm. */
export const firstBytes = (beginning: string): string =>
  /^[\u0800-\u{10ffff}]/u.test(beginning) ? Buffer.from(beginning).toString('latin1', 0, 2) : beginning;
