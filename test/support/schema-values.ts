import fc, { type Arbitrary } from 'fast-check';

/** What is read of a JSON schema here. */
interface JsonSchema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
}

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 200 }));
/** Numbers at which code breaks. */
const oddNumber = fc.constantFrom(0, -0, -1, 1e-320, 0.1, 2 ** 31, -(2 ** 31), 2 ** 53, 1e21, 1e308, -1e308);
const numberLike = (fits: Arbitrary<number>) =>
  fc.oneof({ weight: 9, arbitrary: fits }, { weight: 1, arbitrary: oddNumber });
const anything = fc.oneof(fc.jsonValue({ maxDepth: 3 }), oddNumber, text);

/** Mostly values that fit the schema, field by field, and now and then anything in the place of one. */
export function valueFor(schema: object, own: Readonly<Record<string, Arbitrary<unknown>>> = {}): Arbitrary<unknown> {
  return fc.oneof({ weight: 19, arbitrary: fitting(schema as JsonSchema, own) }, { weight: 1, arbitrary: anything });
}

function fitting(schema: JsonSchema, own: Readonly<Record<string, Arbitrary<unknown>>>): Arbitrary<unknown> {
  const { minimum = -100, maximum = 100, minLength = 0, maxLength = 100, minItems = 0 } = schema;
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => valueFor(one)));
  switch (schema.type) {
    case 'string':
      return text.map((value) => value.padEnd(minLength, 'x').slice(0, maxLength));
    case 'integer':
      return numberLike(fc.integer({ min: Math.max(minimum, -9), max: Math.min(maximum, 9) }));
    case 'number':
      return numberLike(fc.double({ min: minimum, max: maximum, noNaN: true }));
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valueFor(schema.items ?? {}), { minLength: minItems, maxLength: 4 });
    case 'object':
      return objectOf(schema, own);
    default:
      return anything;
  }
}

/** Each required field with 19 in 20, each optional one with 1 in 10, and seldom one that there is not. */
function objectOf(
  { properties = {}, required = [], patternProperties = {} }: JsonSchema,
  own: Readonly<Record<string, Arbitrary<unknown>>>,
): Arbitrary<object> {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const weight = required.includes(name) || name in own ? 19 : 1;
    return maybe(own[name] ?? valueFor(schema), weight, weight === 1 ? 9 : 1).map((value) => value && [name, ...value]);
  });
  const [pattern] = Object.values(patternProperties);
  const ids = pattern === undefined ? [] : [fc.tuple(fc.nat(9000).map(String), valueFor(pattern))];
  const stray = maybe(fc.tuple(text, anything), 1, 30).map((value) => value?.[0]);
  return fc
    .tuple(...fields, ...ids, stray)
    .map((entries) => Object.fromEntries(entries.filter((entry) => entry !== undefined) as [string, unknown][]));
}

/** The value in an array, so that it may be undefined itself, with `weight` against `without`. */
function maybe<T>(value: Arbitrary<T>, weight: number, without: number): Arbitrary<[T] | undefined> {
  return fc.oneof({ weight, arbitrary: fc.tuple(value) }, { weight: without, arbitrary: fc.constant(undefined) });
}
