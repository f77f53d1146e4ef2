import { groupBy } from '../group-by.ts';
import { type CodePoints, codePoints, difference, each, intersection, type Range, size, union } from './code-points.ts';
import { utf8Ranges } from './utf8-ranges.ts';

/** As it stands outside a class. */
export const literal = (character: string): string =>
  /[\\^$.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character;

/** Not `\x`, which to XGrammar goes on for as many hexadecimal digits as follow. */
const hex = (byte: number): string => `\\u${byte.toString(16).padStart(4, '0')}`;
const inClass = (code: number): string =>
  /[a-zA-Z0-9]/.test(String.fromCharCode(code)) ? String.fromCharCode(code) : hex(code);
const range = ([from, to]: Range): string => (from === to ? inClass(from) : `${inClass(from)}-${inClass(to)}`);

const ALPHANUMERIC = codePoints([
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x61, 0x7a],
]);
const CARET = codePoints([[0x5e, 0x5e]]);

/**
 * What stands in a class of ASCII. XGrammar writes control characters as `\x1f` without an end, so no digit may follow;
 * and it takes a `^` that comes first for a negation, escaped or not.
 */
export function ranges(set: CodePoints): string {
  const first = intersection(set, ALPHANUMERIC);
  const last = intersection(set, CARET);
  return [...first, ...difference(set, union(first, last)), ...last].map(range).join('');
}

export function asciiClass(set: CodePoints): string[] {
  if (size(set) === 0) return [];
  return [size(set) === 1 ? literal(String.fromCodePoint(set[0]![0])) : `[${ranges(set)}]`];
}

/**
 * In a class, XGrammar takes code points above 0x7f for bytes, but one that stands alone for a character.
 */
export function beyondAscii(set: CodePoints): string[] {
  if (set.every(([from, to]) => to - from < 2)) return each(set).map((value) => String.fromCodePoint(value));
  return choices(utf8Ranges(set)).map((one) => `(?:${one})`);
}

/** Sequences of bytes by what they begin with, so that no two begin alike; and those that go on alike as one. */
function choices(sequences: readonly (readonly Range[])[]): string[] {
  const beginnings = Array.from(
    groupBy(sequences, ([bytes]) => byteRange(bytes!)),
    ([first, some]) => ({ first, rest: restOf(some) }),
  );
  return Array.from(
    groupBy(beginnings, ({ rest }) => rest),
    ([rest, some]) => `[${some.map(({ first }) => first).join('')}]${rest}`,
  );
}

/** What comes behind the first bytes of sequences that are equally long. */
function restOf(sequences: readonly (readonly Range[])[]): string {
  const rest = sequences[0]!.length === 1 ? [] : choices(sequences.map((one) => one.slice(1)));
  return rest.length > 1 ? `(?:${rest.join('|')})` : (rest[0] ?? '');
}

/** A byte that stands alone comes twice. */
const byteRange = ([from, to]: Range) => `${hex(from)}${from === to ? hex(to) : `-${hex(to)}`}`;
