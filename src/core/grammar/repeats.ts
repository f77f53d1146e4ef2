import { countedRepeats } from './counted-repeats.ts';

/** Those that count. */
interface Keywords {
  readonly [keyword: string]: unknown;
  readonly minLength?: unknown;
  readonly maxLength?: unknown;
  readonly minItems?: unknown;
  readonly maxItems?: unknown;
  readonly minProperties?: unknown;
  readonly maxProperties?: unknown;
  readonly pattern?: unknown;
}

/** Deeper ones are counted as if they were this deep. */
const MAX_DEPTH = 64;

/**
 * How often a schema's parts are written out in its grammar, about: the longest text or array of each, times what lies
 * inside of it. References are not followed.
 */
export function repeats(schema: unknown, depth = 0): number {
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH) return 0;
  if (Array.isArray(schema)) return sum(schema.map((item) => repeats(item, depth + 1)));
  const keywords: Keywords = { ...schema };
  const own =
    counted(keywords, 'minLength', 'maxLength') +
    counted(keywords, 'minProperties', 'maxProperties') +
    (typeof keywords.pattern === 'string' ? countedRepeats(keywords.pattern, 'regex') : 0);
  const items = counted(keywords, 'minItems', 'maxItems');
  const inside = Object.entries(keywords).map(([name, value]) => {
    const count = repeats(value, depth + 1);
    return name === 'items' && items > 0 ? items * (1 + count) : count;
  });
  return own + sum(inside);
}

function counted(schema: Keywords, least: keyof Keywords, most: keyof Keywords): number {
  const [min, max] = [schema[least], schema[most]];
  return Math.max(0, typeof min === 'number' ? min : 0, typeof max === 'number' ? max : 0);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
