import { EMPTY } from './choice-text.ts';

/** No character of a text: Unicode keeps it for marks such as this. */
const NONCHARACTER = '\ufdd0';
/** As XGrammar writes it in a grammar. */
const MARK = /"\\"\\ufdd0(-?\d+) to (-?\d+)\\""/g;

/** A text that stands in a schema for the integers from one to another, both of which count. */
export const rangeMark = (least: number, most: number): string => `${NONCHARACTER}${least} to ${most}`;

/** A grammar with the digits of integers where a schema had a mark for them. */
export const fillRanges = (ebnf: string): string =>
  ebnf.replaceAll(MARK, (_, least: string, most: string) => `(${rangeText(Number(least), Number(most))})`);

/** The integers of a range as EBNF. They may begin alike, and so are kept apart. */
const rangeText = (least: number, most: number): string =>
  split(least, most)
    .map(([from, to]) => `${EMPTY}${from < 0 ? `"-" ${digits(-to, -from)}` : digits(from, to)}`)
    .join(' | ');

/** Of a part that {@link split} makes. */
function digits(from: number, to: number): string {
  const [first, last] = [String(from), String(to)];
  const any = (least: number, most: number) => (most === 0 ? '' : ` [0-9]{${least},${most}}`);
  if (first.length < last.length) return `[1-9]${any(first.length - 1, last.length - 1)}`;
  let at = 0;
  while (first[at] === last[at] && at < first.length) at += 1;
  const same = at === 0 ? '' : `"${first.slice(0, at)}" `;
  if (at === first.length) return same.trimEnd();
  const free = first.length - at - 1;
  return `${same}[${first[at]}-${last[at]}]${any(free, free)}`;
}

type Range = readonly [from: number, to: number];

/**
 * In order, each with digits that stay, one that goes up, and others that may be any, or else with all numbers of some
 * lengths: 95 to 12,349 is 95 to 99, 100 to 9,999, 10,000 to 11,999, 12,000 to 12,299, 12,300 to 12,339, 12,340 to 12,349.
 */
export function split(least: number, most: number): Range[] {
  if (least < 0) {
    const negative = split(Math.max(1, -most), -least).map(([from, to]): Range => [-to, -from]);
    return [...negative.reverse(), ...(most < 0 ? [] : split(0, most))];
  }
  const end = endOfLengths(least, most) ?? endOfDigit(least, most);
  return end === most ? [[least, end]] : [[least, end], ...split(end + 1, most)];
}

/** Where all numbers of as many lengths as there is room for end; undefined where `from` does not begin a length. */
function endOfLengths(from: number, most: number): number | undefined {
  if (from === 0) return 0;
  if (from !== 10 ** (String(from).length - 1)) return undefined;
  let end = 10 * from - 1;
  while (10 * end + 9 <= most) end = 10 * end + 9;
  return end <= most ? end : undefined;
}

/** Where one digit is as high as it may be, and all behind it are nines. */
function endOfDigit(from: number, most: number): number {
  let step = 1;
  while (from % (10 * step) === 0 && from + 10 * step - 1 <= most) step *= 10;
  const digit = Math.floor(from / step) % 10;
  const steps = Math.min(10 - digit, Math.floor((most + 1 - from) / step));
  return from + steps * step - 1;
}
