import { describe, expect, it } from 'vitest';
import { JSON_SCHEMAS } from '../../../test/support/json-schemas.ts';
import { rangeMark } from './integer-text.ts';
import { toSchemaText } from './json-schema.ts';

it('leaves a schema as it is, but for names that a grammar would misread, for integers and for texts', () => {
  for (const schema of JSON_SCHEMAS) {
    const text = JSON.stringify(schema);
    if (!/quotes|"integer"|"pattern"|"maxLength"/.test(text))
      expect(JSON.parse(toSchemaText(schema, true))).toEqual(schema);
  }
  const named = { type: 'object', properties: { 'a"\n': { const: 'a"' } }, required: ['a"\n'] };
  expect(JSON.parse(toSchemaText(named, true))).toEqual({
    ...named,
    properties: { 'a\\\\\\"\\\\n': { const: 'a"' } },
    required: ['a\\\\\\"\\\\n'],
  });
});

describe('what cannot be enforced', () => {
  const inside = (schema: object) => ({ type: 'object', properties: { a: { type: 'array', items: schema } } });
  it.each([
    [{ type: 'integer', multipleOf: 5 }, '"multipleOf" at #/properties/a/items'],
    [{ not: { type: 'string' } }, '"not"'],
    [{ type: 'array', uniqueItems: true }, '"uniqueItems"'],
    [
      { type: 'number', minimum: 0 },
      '"minimum" at #/properties/a/items cannot be enforced where "type" is not "integer"',
    ],
    [{ type: ['integer', 'number'], minimum: 0 }, '"minimum"'],
    [{ maxLength: 3 }, '"maxLength"'],
    [
      { type: 'string', format: 'date', maxLength: 3 },
      '"maxLength" at #/properties/a/items cannot be enforced beside "format"',
    ],
    [
      { type: 'string', format: 'idn-email' },
      '"format" at #/properties/a/items cannot be enforced where it is none of',
    ],
    [{ $ref: '#/$defs/a', minimum: 5, type: 'integer' }, 'beside "$ref"'],
    [
      { type: 'object', anyOf: [{ required: ['a'] }] },
      '"type" at #/properties/a/items cannot be enforced beside "anyOf"',
    ],
    [
      { type: 'integer', enum: [1, 7], minimum: 5 },
      '"minimum" at #/properties/a/items cannot be enforced beside "enum"',
    ],
    [{ $ref: 'https://example.com/schema' }, '"$ref" at #/properties/a/items'],
    [{ $ref: '#a' }, '"$ref"'],
    [{ allOf: [{ type: 'integer' }, { type: 'null' }] }, '"allOf"'],
    [{ type: 'object', required: ['a'] }, 'for "a", which "properties" does not describe'],
  ])('%j is refused where strict, and passed over else', (schema, message) => {
    const wrong = inside(schema);
    expect(() => toSchemaText(wrong, true)).toThrow(
      expect.objectContaining({ code: 'RXLLM_GRAMMAR_INVALID', message: expect.stringContaining(message) }),
    );
    expect(JSON.parse(toSchemaText(wrong, false))).toEqual(wrong);
  });

  it('a length beside a pattern is, too', () => {
    const schema = { type: 'string', pattern: 'a', maxLength: 3 };
    expect(() => toSchemaText(schema, true)).toThrow('"maxLength" at # cannot be enforced beside "pattern"');
    expect(JSON.parse(toSchemaText(schema, false))).toEqual({ type: 'string', pattern: 'a' });
  });

  it.each([-1, 1.5, '3', null])('a count of %j is refused', (maxLength) => {
    expect(() => toSchemaText(inside({ type: 'string', maxLength }), false)).toThrow(
      expect.objectContaining({
        code: 'RXLLM_GRAMMAR_INVALID',
        message: expect.stringContaining('"maxLength" at #/properties/a/items must be a whole number of at least 0'),
      }),
    );
  });

  it.each([
    [
      { type: 'string', enum: ['a', 1] },
      '"type" at # cannot be enforced beside the value 1 of "enum", which has another',
    ],
    [{ type: 'integer', const: 1.5 }, '"type" at # cannot be enforced beside the value 1.5 of "const"'],
    [{ type: ['null', 'array'], enum: [[1], {}] }, '"type" at # cannot be enforced beside the value {} of "enum"'],
    [{ type: 'array', enum: [[1]], minItems: 3 }, '"minItems" at # cannot be enforced beside "enum"'],
    [{ enum: ['a'], const: 'b' }, '"enum" at # cannot be enforced beside "const"'],
    [
      { type: 'object', properties: { k: { const: 1 } }, patternProperties: { '^j$': { const: 2 } } },
      '"patternProperties" at # cannot be enforced beside "properties"',
    ],
    [
      { type: 'object', patternProperties: { '^j$': { const: 2 } }, additionalProperties: { const: 'z' } },
      '"patternProperties" at # cannot be enforced beside "additionalProperties"',
    ],
  ])('what XGrammar passes over in %j is refused where strict', (schema, message) => {
    expect(() => toSchemaText(schema, true)).toThrow(message);
    expect(() => toSchemaText(schema, false)).not.toThrow();
  });

  it.each(['enum', 'anyOf', 'oneOf', 'allOf'])('an empty "%s" is refused', (name) => {
    expect(() => toSchemaText({ [name]: [] }, false)).toThrow(`"${name}" at # is empty`);
  });

  it('bounds of integers are, by a mark', () => {
    const schema = { type: 'array', items: { type: ['integer', 'null'], minimum: 0, maximum: 12, title: 'a' } };
    expect(JSON.parse(toSchemaText(schema, true))).toEqual({
      type: 'array',
      items: {
        title: 'a',
        anyOf: [{ const: rangeMark(0, 12) }, { type: ['null'], title: 'a' }],
      },
    });
  });

  it.each([
    { type: 'array', uniqueItems: false },
    { type: 'string', enum: ['a'], title: 'A', description: 'b', default: 'a', examples: ['a'] },
    { $ref: '#/$defs/a', description: 'a', $defs: { a: { type: 'string' } } },
    { const: { not: 'a schema', if: 1 } },
    { type: ['number', 'null'], enum: [1, 2.5, null] },
    { type: 'integer', const: 3 },
    { const: false, type: 'boolean' },
    { type: ['array', 'object'], enum: [[1], { a: 1 }] },
  ])('%j can', (schema) => {
    expect(JSON.parse(toSchemaText(schema, true))).toEqual(schema);
  });
});

it.each([
  [{ enum: ['light', 'dark', 'dull'] }, undefined],
  [
    { type: 'string', enum: ['xyzxyw', 'xyw'] },
    { type: 'string', anyOf: [['xyzxyw'], ['xyw']] },
  ],
  [{ anyOf: [{ const: 'xyw' }, { type: 'null' }] }, undefined],
])('values of %j are kept apart only where they might be mixed', (schema, expected) => {
  const layers = expected && { ...expected, anyOf: expected.anyOf.map((values) => ({ anyOf: [{ enum: values }] })) };
  expect(JSON.parse(toSchemaText(schema, true))).toEqual(layers ?? schema);
});

describe('texts', () => {
  it.each([
    [{ type: 'string', pattern: '^"\\n[é-ë]?$' }, '(?:\\\\")(?:\\\\n)(?:[\\u00c3\\u00c3][\\u00a9-\\u00ab])?'],
    [{ type: 'string', maxLength: 3 }, '[^\\u0000-\\u001f\\u0022\\u005c]{0,3}'],
    [{ type: ['string', 'null'], minLength: 2 }, '[^\\u0000-\\u001f\\u0022\\u005c]{2,}'],
    [{ type: 'string', maxLength: 0 }, ''],
  ])('%j has a pattern', (schema, pattern) => {
    expect(JSON.parse(toSchemaText(schema, true))).toEqual({ type: schema.type, pattern });
  });

  it('names have one as well', () => {
    const schema = { type: 'object', patternProperties: { '^"$': { const: 1 } }, additionalProperties: false };
    expect(JSON.parse(toSchemaText(schema, true))).toEqual({
      ...schema,
      patternProperties: { '(?:a{0})?(?:\\\\")': { const: 1 } },
    });
  });

  it.each([
    { type: 'string', format: 'date' },
    { type: 'string', minLength: 3, maxLength: 2 },
    { enum: ['a'], pattern: '(?=a)', maxLength: 3, type: 'string' },
    { type: 'integer', pattern: '(?=a)' },
  ])('%j is left as it is', (schema) => {
    expect(JSON.parse(toSchemaText(schema, false))).toEqual(schema);
  });
});
