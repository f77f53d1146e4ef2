import { describe, expect, it } from 'vitest';
import { JSON_SCHEMAS } from '../../../test/support/json-schemas.ts';
import { toSchemaText } from './json-schema.ts';

it('leaves a schema as it is, but for names that a grammar would misread', () => {
  for (const schema of JSON_SCHEMAS) {
    if (!JSON.stringify(schema).includes('quotes')) expect(JSON.parse(toSchemaText(schema, true))).toEqual(schema);
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
      { type: 'string', pattern: 'a', maxLength: 3 },
      '"maxLength" at #/properties/a/items cannot be enforced beside "pattern"',
    ],
    [{ type: 'string', format: 'email', maxLength: 3 }, 'beside "format"'],
    [{ $ref: '#/$defs/a', minimum: 5, type: 'integer' }, 'beside "$ref"'],
    [
      { type: 'object', anyOf: [{ required: ['a'] }] },
      '"type" at #/properties/a/items cannot be enforced beside "anyOf"',
    ],
    [{ allOf: [{ type: 'integer' }, { type: 'null' }] }, '"allOf"'],
    [{ type: 'object', required: ['a'] }, 'for "a", which "properties" does not describe'],
  ])('%j is refused where strict, and passed over else', (schema, message) => {
    const wrong = inside(schema);
    expect(() => toSchemaText(wrong, true)).toThrow(
      expect.objectContaining({ code: 'RXLLM_GRAMMAR_INVALID', message: expect.stringContaining(message) }),
    );
    expect(JSON.parse(toSchemaText(wrong, false))).toEqual(wrong);
  });

  it.each([
    { type: 'array', uniqueItems: false },
    { type: ['integer', 'null'], minimum: 0 },
    { type: 'string', enum: ['a'], title: 'A', description: 'b', default: 'a', examples: ['a'] },
    { $ref: '#/$defs/a', description: 'a', $defs: { a: { type: 'string', maxLength: 3 } } },
    { const: { not: 'a schema', if: 1 } },
  ])('%j can', (schema) => {
    expect(JSON.parse(toSchemaText(schema, true))).toEqual(schema);
  });
});
