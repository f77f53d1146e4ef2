import { isRecord } from '../is-record.ts';
import { ALONE, BOUNDS, FORMATS, type Keywords } from './keywords.ts';
import { invalidFormat } from './refusals.ts';

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
/** Of these, the first that is there counts. */
const TEXT_RULES = [['pattern'], ['format'], ['minLength', 'maxLength']];

/**
 * Refuses the first keyword of a schema, those inside of it apart, that XGrammar would not enforce as it stands there.
 * @throws RxllmError `RXLLM_GRAMMAR_INVALID` with its name, its `path` and what to do
 */
export function refuseUnenforced(schema: Keywords, path: string): void {
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

const isOfType = (value: unknown, type: unknown): boolean => {
  if (value === null || Array.isArray(value)) return type === (value === null ? 'null' : 'array');
  return type === typeof value || (type === 'integer' && Number.isInteger(value));
};
