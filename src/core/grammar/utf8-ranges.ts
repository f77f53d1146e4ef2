import type { CodePoints, Range } from './code-points.ts';

/** The last code points of one, two and three bytes. */
const LENGTHS = [0x7f, 0x7ff, 0xffff];

/**
 * Code points as UTF-8: each sequence has a range for each of its bytes, and any byte of one goes with any of the others.
 * So does RE2, and the crate utf8-ranges: U+0080 to U+0FFF is `[c2-df][80-bf]` and `e0[a0-bf][80-bf]`.
 */
export function utf8Ranges(set: CodePoints): Range[][] {
  return set.flatMap(([from, to]) => sequences(from, to));
}

function sequences(from: number, to: number): Range[][] {
  const both = (last: number) => [...sequences(from, last), ...sequences(last + 1, to)];
  const length = LENGTHS.find((last) => from <= last && last < to);
  if (length !== undefined) return both(length);
  const [first, last] = [bytes(from), bytes(to)];
  // All bytes behind one that varies must be any.
  for (let behind = 1; behind < first.length; behind++) {
    const low = 2 ** (6 * behind) - 1;
    if ((from | low) === (to | low)) continue;
    if ((from & low) !== 0) return both(from | low);
    if ((to & low) !== low) return both((to & ~low) - 1);
  }
  return [first.map((byte, at): Range => [byte, last[at]!])];
}

const bytes = (codePoint: number): number[] => [...new TextEncoder().encode(String.fromCodePoint(codePoint))];
