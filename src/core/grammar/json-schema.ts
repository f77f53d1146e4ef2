import type { JsonSchema } from '../contracts/index.ts';
import { isRecord } from '../is-record.ts';
import { integerRange } from './integer-range.ts';
import type { Keywords } from './keywords.ts';
import { listedApart } from './listed-values.ts';
import { toXGrammarPattern } from './pattern.ts';
import { apart } from './pattern-choices.ts';
import { invalidFormat } from './refusals.ts';
import { textPattern } from './text-pattern.ts';
import { refuseUnenforced } from './unenforced.ts';

/** Bounds that count something. */
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];

/**
 * The JSON text of a schema as XGrammar reads it, which puts the names of properties into its grammar as they are, and
 * widens the bounds of integers, in the place of which there is a mark.
 * @throws RxllmError `RXLLM_GRAMMAR_INVALID` for a count that is none and for lists that are empty, and where `strict`, for the first keyword that it
 * would not enforce
 */
export function toSchemaText(schema: JsonSchema, strict: boolean): string {
  return JSON.stringify(rewrite(schema, '#', strict ? refuseUnenforced : () => {}));
}

function rewrite(schema: unknown, path: string, check: (schema: Keywords, path: string) => void): unknown {
  if (!isRecord(schema)) return schema;
  checkValues(schema, path);
  check(schema, path);
  const inside = (value: unknown, name: string) => rewrite(value, `${path}/${name}`, check);
  const each = (value: unknown, name: string, nameOf = (key: string) => key) =>
    isRecord(value)
      ? Object.fromEntries(Object.entries(value).map(([key, one]) => [nameOf(key), inside(one, `${name}/${key}`)]))
      : value;
  const rewritten = Object.entries(schema).map(([name, value]): [string, unknown] => {
    switch (name) {
      case 'properties':
        return [name, each(value, name, escaped)];
      case 'required':
        return [
          name,
          Array.isArray(value) ? value.map((one) => (typeof one === 'string' ? escaped(one) : one)) : value,
        ];
      case 'patternProperties':
        return [name, each(value, name, (key) => apart(toXGrammarPattern(key, 'json')))];
      case '$defs':
      case 'definitions':
        return [name, each(value, name)];
      case 'items':
      case 'additionalProperties':
        return [name, inside(value, name)];
      case 'prefixItems':
      case 'allOf':
      case 'anyOf':
      case 'oneOf':
        return [name, Array.isArray(value) ? value.map((one, at) => inside(one, `${name}/${at}`)) : value];
      default:
        return [name, value];
    }
  });
  const kept = { ...Object.fromEntries(rewritten), ...textPattern(schema) };
  const result = integerRange(kept) ?? kept;
  return listedApart(result) ?? result;
}

/** As it stands in JSON, and that as it stands in a grammar. */
const escaped = (name: string): string => [1, 2].reduce((text) => JSON.stringify(text).slice(1, -1), name);

function checkValues(schema: Keywords, path: string): void {
  const wrong = COUNTS.find((name) => schema[name] !== undefined && !isCount(schema[name]));
  if (wrong !== undefined) throw invalidFormat(`"${wrong}" at ${path} must be a whole number of at least 0.`);
  const empty = ['enum', 'anyOf', 'oneOf', 'allOf'].find((name) => [schema[name]].flat().length === 0);
  if (empty !== undefined) throw invalidFormat(`"${empty}" at ${path} is empty, and nothing fits it; list something.`);
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
