import { rangeMark } from './integer-text.ts';
import { BOUNDS, DECISIVE, type Keywords } from './keywords.ts';

/** Bounded integers have at most 15 digits, so that all of them are exact. */
const LARGEST = 10 ** 15 - 1;

/**
 * A schema of bounded integers with a mark for their text, which XGrammar would widen (of 0 to 120 it makes 0 to 129).
 * Undefined where it is no such schema, and where no number fits.
 */
export function integerRange(schema: Keywords): Keywords | undefined {
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
  const range = { const: rangeMark(least, most) };
  const others = types.filter((type) => type !== 'integer');
  const rest = Object.fromEntries(Object.entries(schema).filter(([name]) => name !== 'type' && !BOUNDS.includes(name)));
  return others.length === 0 ? { ...rest, ...range } : { ...rest, anyOf: [range, { ...rest, type: others }] };
}

const above = (bound: number | undefined) => (bound === undefined ? undefined : Math.floor(bound) + 1);
const below = (bound: number | undefined) => (bound === undefined ? undefined : Math.ceil(bound) - 1);
