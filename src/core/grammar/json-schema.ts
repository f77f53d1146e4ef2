import type { JsonSchema } from '../contracts/index.ts';
import { isRecord } from '../is-record.ts';
import { integerRange } from './integer-range.ts';
import { ALONE, BOUNDS, FORMATS, type Keywords } from './keywords.ts';
import { listedApart } from './listed-values.ts';
import { toXGrammarPattern } from './pattern.ts';
import { apart } from './pattern-choices.ts';
import { invalidFormat } from './refusals.ts';
import { textPattern } from './text-pattern.ts';

/** What XGrammar passes over. */
const IGNORED = [
  ...['not', 'if', 'then', 'else', 'dependentRequired', 'dependentSchemas', 'dependencies', 'propertyNames'],
  ...['multipleOf', 'uniqueItems', 'contains', 'minContains', 'maxContains', '$dynamicRef'],
];
/** What is not kept where `type` does not say this: of the bounds of numbers only those of integers are. */
const OF_TYPE = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  integer: BOUNDS,
  array: ['items', 'prefixItems', 'minItems', 'maxItems'],
  object: ['patternProperties', 'minProperties', 'maxProperties'],
} as const satisfies Record<string, readonly string[]>;
const ASSERTIONS = ['type', 'enum', 'const', 'properties', 'required', ...ALONE, ...Object.values(OF_TYPE).flat()];
/** Bounds that count something. */
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
/** Of these, the first that is there counts. */
const TEXT_RULES = [['pattern'], ['format'], ['minLength', 'maxLength']];

/**
 * The JSON text of a schema as XGrammar reads it, which puts the names of properties into its grammar as they are, and
 * widens the bounds of integers, in the place of which there is a mark.
 * @throws RxllmError `RXLLM_GRAMMAR_INVALID` for a count that is none, and where `strict`, for the first keyword that it
 * would not enforce
 */
export function toSchemaText(schema: JsonSchema, strict: boolean): string {
  return JSON.stringify(rewrite(schema, '#', strict ? refuseUnenforced : () => {}));
}

function rewrite(schema: unknown, path: string, check: (schema: Keywords, path: string) => void): unknown {
  if (!isRecord(schema)) return schema;
  checkCounts(schema, path);
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

function checkCounts(schema: Keywords, path: string): void {
  const wrong = COUNTS.find((name) => schema[name] !== undefined && !isCount(schema[name]));
  if (wrong !== undefined) throw invalidFormat(`"${wrong}" at ${path} must be a whole number of at least 0.`);
  const empty = ['enum', 'anyOf', 'oneOf', 'allOf'].find((name) => [schema[name]].flat().length === 0);
  if (empty !== undefined) throw invalidFormat(`"${empty}" at ${path} is empty, and nothing fits it; list something.`);
}

const isOfType = (value: unknown, type: unknown): boolean => {
  if (value === null || Array.isArray(value)) return type === (value === null ? 'null' : 'array');
  return type === typeof value || (type === 'integer' && Number.isInteger(value));
};

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

function refuseUnenforced(schema: Keywords, path: string): void {
  const has = (name: string) => schema[name] !== undefined && schema[name] !== false;
  const refuse = (name: string, why: string): never => {
    throw invalidFormat(`"${name}" at ${path} cannot be enforced ${why}; leave it out, or ask without strict.`);
  };
  for (const name of IGNORED) if (has(name)) refuse(name, 'while text is generated');
  if (has('$ref') && !/^#(?:\/|$)/.test(String(schema.$ref))) refuse('$ref', 'where it is no path in this schema');

  const types = [schema.type].flat();
  for (const [type, names] of Object.entries(OF_TYPE)) {
    const applies = types.includes(type) && !(type === 'integer' && types.includes('number'));
    for (const name of names) if (has(name) && !applies) refuse(name, `where "type" is not "${type}"`);
  }
  const [first, second] = TEXT_RULES.flatMap((names) => names.filter(has).slice(0, 1));
  if (second !== undefined) refuse(second, `beside "${first}"`);
  if (has('format') && !FORMATS.includes(String(schema.format)))
    refuse('format', `where it is none of ${FORMATS.join(', ')}`);

  const listed = ['const', 'enum'].find((name) => schema[name] !== undefined);
  if (listed !== undefined) {
    const unread = ['enum', 'properties', 'required', ...Object.values(OF_TYPE).flat()];
    for (const name of unread) if (name !== listed && has(name)) refuse(name, `beside "${listed}"`);
    const values = listed === 'const' ? [schema.const] : [schema.enum].flat();
    const other = has('type') ? values.find((value) => !types.some((type) => isOfType(value, type))) : undefined;
    if (other !== undefined)
      refuse('type', `beside the value ${JSON.stringify(other)} of "${listed}", which has another`);
  }
  const named = ['properties', 'required', 'additionalProperties'].find(has);
  if (has('patternProperties') && named !== undefined) refuse('patternProperties', `beside "${named}"`);
  const alone = ALONE.find(has);
  const beside = ASSERTIONS.find((name) => name !== alone && has(name));
  if (alone !== undefined && beside !== undefined) refuse(beside, `beside "${alone}"`);
  if (Array.isArray(schema.allOf) && schema.allOf.length > 1) refuse('allOf', 'with more than one schema');

  const described = isRecord(schema.properties) ? schema.properties : {};
  const missing = [schema.required]
    .flat()
    .find((name) => name !== undefined && !Object.hasOwn(described, String(name)));
  if (missing !== undefined) refuse('required', `for ${JSON.stringify(missing)}, which "properties" does not describe`);
}
