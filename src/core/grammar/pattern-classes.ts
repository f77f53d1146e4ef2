import type { AST } from '@eslint-community/regexpp';
import {
  ASCII,
  type CodePoints,
  codePoints,
  complement,
  difference,
  intersection,
  SURROGATES,
  union,
} from './code-points.ts';

const SETS = {
  digit: codePoints([[0x30, 0x39]]),
  word: codePoints([
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x5f, 0x5f],
    [0x61, 0x7a],
  ]),
  space: codePoints([
    ...([
      [0x09, 0x0d],
      [0x20, 0x20],
      [0xa0, 0xa0],
      [0x1680, 0x1680],
      [0x2000, 0x200a],
    ] as const),
    ...([
      [0x2028, 0x2029],
      [0x202f, 0x202f],
      [0x205f, 0x205f],
      [0x3000, 0x3000],
      [0xfeff, 0xfeff],
    ] as const),
  ]),
};
const LINE_ENDS = codePoints([
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]);
/** What a JSON string has escaped: control characters, the quote and the backslash. */
export const ESCAPED_IN_JSON = codePoints([
  [0, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
]);
const NUL = codePoints([[0, 0]]);

/** A class, by how its members got there. */
interface Members {
  readonly named: CodePoints;
  readonly implied: CodePoints;
}

/**
 * The code points that a class, or a set like `.` or `\W`, stands for; undefined for Unicode properties. Those that it
 * does not name (`[^a]`, `.`, `\s`) are fewer in JSON, where they would have to be escaped; and `\s` is ASCII's.
 */
export function classMembers(
  node: AST.ClassRangesCharacterClass | AST.CharacterSet,
  isJson: boolean,
): CodePoints | undefined {
  const members = membersOf(node);
  if (members === undefined) return undefined;
  const implied = isJson ? difference(members.implied, ESCAPED_IN_JSON) : difference(members.implied, NUL);
  return difference(union(members.named, implied), SURROGATES);
}

function membersOf(node: AST.ClassRangesCharacterClass | AST.CharacterSet): Members | undefined {
  if (node.type === 'CharacterSet') {
    const implied = setOf(node, false);
    return implied && { named: [], implied };
  }
  const sets = node.elements.filter((element) => element.type === 'CharacterSet').map((set) => setOf(set, node.negate));
  const implied = sets.filter((set) => set !== undefined);
  if (implied.length < sets.length) return undefined;
  const named = codePoints(
    node.elements.flatMap((element) => {
      if (element.type === 'Character') return [[element.value, element.value] as const];
      return element.type === 'CharacterClassRange' ? [[element.min.value, element.max.value] as const] : [];
    }),
  );
  return node.negate
    ? { named: [], implied: complement(union(named, ...implied)) }
    : { named, implied: union(...implied) };
}

/** In a class that is negated, all that a set may mean is left out. */
function setOf(set: AST.CharacterSet, isWide: boolean): CodePoints | undefined {
  if (set.kind === 'any') return complement(LINE_ENDS);
  if (set.kind === 'property') return undefined;
  if (set.negate) return complement(isWide && set.kind === 'space' ? intersection(SETS.space, ASCII) : SETS[set.kind]);
  return set.kind === 'space' && !isWide ? intersection(SETS.space, ASCII) : SETS[set.kind];
}
