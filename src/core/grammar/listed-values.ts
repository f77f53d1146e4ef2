import { isRecord } from '../is-record.ts';
import type { Keywords } from './keywords.ts';

/**
 * A schema whose listed values XGrammar might mix, rewritten as `anyOf` of one-value schemas, each wrapped in another
 * `anyOf`, because XGrammar inlines one level. Undefined where it lists none, or none that might be mixed.
 */
export function listedApart(schema: Keywords): Keywords | undefined {
  if (schema.$ref !== undefined || schema.const !== undefined) return undefined;
  if (Array.isArray(schema.enum)) {
    const { enum: values, ...rest } = schema;
    return mayMix(values) ? { ...rest, anyOf: values.map((value) => layered({ enum: [value] })) } : undefined;
  }
  // Of the two XGrammar looks at the first.
  const name = ['anyOf', 'oneOf'].find((one) => Array.isArray(schema[one]));
  if (name === undefined) return undefined;
  const members = schema[name] as readonly unknown[];
  if (!mayMix(members.flatMap(valuesOf))) return undefined;
  return { ...schema, [name]: members.map((one) => (valuesOf(one).length > 0 ? layered(one) : one)) };
}

const layered = (schema: unknown): Keywords => ({ anyOf: [schema] });

/** Of `const` or `enum`, also inside of an `allOf`, which is no rule of its own to XGrammar. */
function valuesOf(schema: unknown): readonly unknown[] {
  const keywords: Keywords = isRecord(schema) ? schema : {};
  if (keywords.$ref !== undefined) return [];
  if (keywords.const !== undefined) return [keywords.const];
  if (Array.isArray(keywords.enum)) return keywords.enum;
  return Array.isArray(keywords.allOf) ? keywords.allOf.flatMap(valuesOf) : [];
}

/**
 * Whether the text of one of these begins like another up to where it ends like one: only there what begins alike and what
 * ends alike can meet. Looked at byte by byte.
 */
function mayMix(values: readonly unknown[]): boolean {
  const texts = new Set(values.map((value) => JSON.stringify(value) ?? 'null'));
  const bytes = Array.from(texts, (text) => Buffer.from(text));
  const begins = longestAlike(bytes.map((one) => one.toString('latin1')));
  const ends = longestAlike(bytes.map((one) => one.reverse().toString('latin1')));
  return bytes.some(({ length }, at) => begins[at]! > 0 && begins[at]! + ends[at]! >= length);
}

/** How much of each text another one begins with. */
function longestAlike(texts: readonly string[]): number[] {
  const longest = texts.map(() => 0);
  const order = Array.from(texts.keys()).sort((a, b) => (texts[a]! < texts[b]! ? -1 : 1));
  for (const [place, at] of order.slice(1).entries()) {
    const before = order[place]!;
    const alike = alikeIn(texts[before]!, texts[at]!);
    longest[before] = Math.max(longest[before]!, alike);
    longest[at] = alike;
  }
  return longest;
}

function alikeIn(text: string, other: string): number {
  let at = 0;
  while (at < text.length && text[at] === other[at]) at += 1;
  return at;
}
