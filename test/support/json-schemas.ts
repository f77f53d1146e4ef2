import type { JsonSchema } from '../../src/core/contracts/index.ts';

const object = (properties: Readonly<Record<string, JsonSchema>>, rest: object = {}): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...rest,
});
const text = (maxLength: number, minLength = 0): JsonSchema => ({ type: 'string', minLength, maxLength });
const integer = (minimum: number, maximum: number): JsonSchema => ({ type: 'integer', minimum, maximum });
const array = (items: JsonSchema, minItems: number, maxItems: number): JsonSchema => ({
  type: 'array',
  items,
  minItems,
  maxItems,
});
const pattern = (source: string): JsonSchema => ({ type: 'string', pattern: `^${source}$` });
const ref = (name: string): JsonSchema => ({ $ref: `#/$defs/${name}` });
const yesOrNo: JsonSchema = { type: 'boolean' };
const colour: JsonSchema = { enum: ['red', 'green', 'blue'] };
const person = object({ name: text(16, 1), age: integer(0, 120) });

/** Fifty that ask for everything that structured output is used for; each has texts that end. */
export const JSON_SCHEMAS: readonly JsonSchema[] = [
  // Scalars.
  text(20),
  integer(1, 6),
  yesOrNo,
  { type: 'null' },
  colour,
  { const: 'always this' },
  { enum: [1, 2.5, 'three', null, true] },
  pattern('[A-Z]{2}[0-9]{4}'),
  pattern('(cat|dog)s?'),
  { anyOf: [integer(0, 9), pattern('[a-z]{3}')] },

  // Flat objects.
  person,
  object({ colour, shade: { enum: ['light', 'dark'] } }),
  object({ done: yesOrNo, left: integer(0, 10) }),
  object({ id: pattern('[a-f0-9]{8}'), ok: yesOrNo }),
  object({ date: pattern('20[0-9]{2}-(0[1-9]|1[0-2])-[0-2][1-8]') }),
  object({ a: { type: 'null' }, b: { const: 7 }, c: { const: 'c' } }),
  object({ 'a key with spaces': text(8), 'and "quotes" \\': yesOrNo, ümlaut: integer(-5, 5) }),
  { type: 'object', properties: { sure: yesOrNo, maybe: text(8) }, required: ['sure'], additionalProperties: false },
  { type: 'object', properties: { x: integer(0, 9), y: integer(0, 9), z: integer(0, 9) }, additionalProperties: false },
  object({ temperature: { type: 'number' } }),

  // Nested objects.
  object({ who: person, where: object({ city: text(12, 1), zip: pattern('[0-9]{5}') }) }),
  object({ a: object({ b: object({ c: object({ d: integer(0, 3) }) }) }) }),
  object({ left: person, right: person, same: yesOrNo }),
  object({
    shape: { anyOf: [object({ radius: integer(1, 9) }), object({ width: integer(1, 9), height: integer(1, 9) })] },
  }),
  object({ outer: { type: 'object', properties: { inner: colour }, additionalProperties: false } }),
  object({ meta: object({ tags: array(colour, 1, 2) }), body: text(24) }),
  object({ maybe: { anyOf: [person, { type: 'null' }] } }),
  object({ kind: { const: 'circle' }, size: { enum: ['S', 'M', 'L'] }, label: object({ text: text(10) }) }),
  object({ point: object({ x: integer(-100, 100), y: integer(-100, 100) }) }),
  object({ address: object({ street: text(16, 1), number: integer(1, 200) }), name: text(10, 1) }),

  // Bounded arrays.
  array(integer(0, 9), 3, 3),
  array(text(6, 1), 1, 4),
  array(yesOrNo, 0, 5),
  array(colour, 2, 3),
  array(array(integer(0, 1), 2, 2), 2, 2),
  array(person, 1, 2),
  object({ ids: array(pattern('[A-Z][0-9]'), 1, 3) }),
  object({ matrix: array(array(integer(0, 9), 3, 3), 1, 2) }),
  { type: 'array', prefixItems: [colour, integer(1, 3), yesOrNo], items: false, minItems: 3, maxItems: 3 },
  object({ steps: array(object({ do: text(12, 1), minutes: integer(1, 60) }), 1, 3) }),

  // References.
  { $defs: { person }, ...(ref('person') as object) },
  { ...(object({ from: ref('person'), to: ref('person') }) as object), $defs: { person } },
  { ...(array(ref('colour'), 1, 3) as object), $defs: { colour } },
  {
    ...(object({ pet: ref('pet') }) as object),
    $defs: { pet: object({ name: text(8, 1), coat: ref('colour') }), colour },
  },
  {
    ...(object({ tree: ref('leaf'), other: { anyOf: [ref('leaf'), { type: 'null' }] } }) as object),
    $defs: { leaf: object({ value: integer(0, 9) }) },
  },
  {
    ...(object({ code: ref('code'), codes: array(ref('code'), 0, 2) }) as object),
    $defs: { code: pattern('[a-z]{2}-[0-9]{2}') },
  },

  // Of everything something.
  object({
    title: text(20, 1),
    rating: integer(1, 5),
    tags: array({ enum: ['kind', 'brave', 'funny', 'sad'] }, 1, 3),
    author: object({ name: text(12, 1), country: pattern('[A-Z]{2}') }),
  }),
  object({
    status: { enum: ['open', 'closed'] },
    items: array(object({ sku: pattern('[A-Z]{3}'), count: integer(1, 9) }), 1, 2),
  }),
  {
    ...(object({
      story: object({ hero: ref('hero'), helpers: array(ref('hero'), 0, 2) }),
      length: integer(1, 9),
    }) as object),
    $defs: { hero: object({ name: text(10, 1), animal: { enum: ['fox', 'owl', 'hare'] }, magic: yesOrNo }) },
  },
  object({
    email: pattern('[a-z]{3,8}@[a-z]{3,8}\\.(com|org)'),
    roles: array({ enum: ['admin', 'user'] }, 1, 2),
    active: yesOrNo,
  }),
];
