import { BOUNDS, DECISIVE, type Keywords } from './keywords.ts';

/** Bounded integers have at most 15 digits, so that all of them are exact. */
const LARGEST = 10 ** 15 - 1;

/**
 * A schema of bounded integers as a choice of ranges, in each of which digits that vary stand behind digits that do not:
 * others XGrammar widens (of 0 to 120 it makes 0 to 129). Undefined where it is no such schema, and where no number fits.
 */
export function integerRanges(schema: Keywords): Keywords | undefined {
  const types = [schema.type].flat();
  const bounds = BOUNDS.map((name) => schema[name]).filter((bound) => bound !== undefined);
  if (!types.includes('integer') || types.includes('number') || bounds.length === 0) return undefined;
  if (bounds.some((bound) => typeof bound !== 'number') || DECISIVE.some((name) => schema[name] !== undefined)) {
    return undefined;
  }
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Partial<Record<string, number>> = schema as object;
  const least = Math.ceil(Math.max(minimum ?? -LARGEST, above(exclusiveMinimum) ?? -LARGEST, -LARGEST));
  const most = Math.floor(Math.min(maximum ?? LARGEST, below(exclusiveMaximum) ?? LARGEST, LARGEST));
  if (least > most) return undefined;
  const ranges = split(least, most).map(([from, to]) => ({ type: 'integer', minimum: from, maximum: to }));
  const others = types.filter((type) => type !== 'integer');
  const rest = Object.fromEntries(Object.entries(schema).filter(([name]) => name !== 'type' && !BOUNDS.includes(name)));
  return { ...rest, anyOf: others.length === 0 ? ranges : [...ranges, { ...rest, type: others }] };
}

const above = (bound: number | undefined) => (bound === undefined ? undefined : Math.floor(bound) + 1);
const below = (bound: number | undefined) => (bound === undefined ? undefined : Math.ceil(bound) - 1);

type Range = readonly [from: number, to: number];

/**
 * In order, each with digits that stay, one that goes up, and others that may be any, or else with all numbers of some
 * lengths: 95 to 12,349 is 95 to 99, 100 to 9,999, 10,000 to 10,999, 11,000 to 11,999, 12,000 to 12,099 and so on to
 * 12,200 to 12,299, 12,300 to 12,349.
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
  if (from !== 0 && from !== 10 ** (String(from).length - 1)) return undefined;
  let end = from === 0 ? 9 : 10 * from - 1;
  while (10 * end + 9 <= most) end = 10 * end + 9;
  return end <= most ? end : undefined;
}

/**
 * Where one digit is as high as it may be, and all behind it are nines. Where digits stay before it, and two or more behind
 * may be any, it stays as well: XGrammar would let it go up to nine.
 */
function endOfDigit(from: number, most: number): number {
  let step = 1;
  while (from > 0 && from % (10 * step) === 0 && from + 10 * step - 1 <= most) step *= 10;
  const digit = Math.floor(from / step) % 10;
  const stays = step >= 100 && from >= 10 * step;
  const steps = stays ? 1 : Math.min(10 - digit, Math.floor((most + 1 - from) / step));
  return from + steps * step - 1;
}
