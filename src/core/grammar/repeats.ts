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

/** `{3}`, `{2,5}`, `{2,}` behind something. */
const COUNTED = /\{(\d+)(?:,(\d*))?\}/g;
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
    ofPattern(keywords.pattern);
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

/** Nested counts multiply: all of them do here, which is the most that they can come to. */
function ofPattern(pattern: unknown): number {
  if (typeof pattern !== 'string') return 0;
  const counts = [...pattern.matchAll(COUNTED)].map(([, min, max]) => Math.max(Number(min), Number(max || 0)));
  const nests = /\)\s*\{\d/.test(pattern);
  return nests ? counts.reduce((product, count) => product * Math.max(1, count), 1) : sum(counts);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
