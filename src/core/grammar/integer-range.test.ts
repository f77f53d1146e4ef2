import { expect, it } from 'vitest';
import { integerRange } from './integer-range.ts';
import { rangeMark } from './integer-text.ts';

it.each([
  [{ type: 'integer', minimum: 5 }, 5, 999_999_999_999_999],
  [{ type: 'integer', maximum: -5 }, -999_999_999_999_999, -5],
  [{ type: 'integer', exclusiveMinimum: 5, exclusiveMaximum: 12 }, 6, 11],
  [{ type: 'integer', minimum: 3, exclusiveMinimum: 4.5, maximum: 9.5 }, 5, 9],
  [{ type: ['integer'], maximum: 2 ** 63, minimum: 1 }, 1, 999_999_999_999_999],
])('%j has these ends', (schema, least, most) => {
  expect(integerRange(schema)).toEqual({ const: rangeMark(least, most) });
});

it('keeps what else a schema allows', () => {
  expect(integerRange({ type: ['integer', 'string'], minimum: 1, maximum: 9, maxLength: 3 })).toEqual({
    maxLength: 3,
    anyOf: [{ const: rangeMark(1, 9) }, { type: ['string'], maxLength: 3 }],
  });
});

it.each([
  { type: 'integer' },
  { type: 'number', minimum: 1 },
  { type: ['integer', 'number'], minimum: 1 },
  { type: 'integer', minimum: 'a' },
  { type: 'integer', minimum: 3, maximum: 2 },
  { type: 'integer', minimum: 2, maximum: 3, enum: [2] },
  { type: 'integer', minimum: 2, $ref: '#' },
])('%j is left as it is', (schema) => {
  expect(integerRange(schema)).toBeUndefined();
});
