import { elements, type Notation } from './notation.ts';

/**
 * How often the parts of a pattern or grammar are written out where it counts them (`a{3}`, `a{2,5}`): side by side the
 * counts add up, and inside of each other they multiply. Rules that name each other are not followed.
 */
export function countedRepeats(text: string, notation: Notation): number {
  /** Sums of the groups that are open, from the outermost in. */
  const outer: number[] = [];
  let sum = 0;
  /** Of the element that a count may stand behind. */
  let last = 0;
  for (const [element, least, most] of elements(text, notation)) {
    if (element === '(') {
      outer.push(sum + last);
      sum = 0;
      last = 0;
    } else if (element === ')') {
      last += sum;
      sum = outer.pop() ?? 0;
    } else if (least !== undefined) {
      last = Math.max(Number(least), Number(most || 0)) * Math.max(1, last);
    } else if (!element.startsWith('#') || notation === 'regex') {
      sum += last;
      last = 0;
    }
  }
  return outer.reduce((total, one) => total + one, sum + last);
}
