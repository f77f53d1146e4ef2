import { expect, it } from 'vitest';
import { isNestedTooDeep, MAX_NESTING } from './nesting.ts';

const nested = (depth: number, around: (inside: unknown) => unknown): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = around(value);
  return value;
};

it.each([
  ['objects', (inside: unknown) => ({ other: null, items: inside })],
  ['arrays', (inside: unknown) => [0, inside]],
] as const)('%s may lie in each other as deep as the limit', (_, around) => {
  expect(isNestedTooDeep(nested(MAX_NESTING, around))).toBe(false);
  expect(isNestedTooDeep(nested(MAX_NESTING + 1, around))).toBe(true);
  expect(isNestedTooDeep(nested(200_000, around))).toBe(true);
});

it('what is no object has no depth', () => {
  for (const value of [undefined, null, 1, 'x', true]) expect(isNestedTooDeep(value, 0)).toBe(false);
  expect(isNestedTooDeep({}, 0)).toBe(true);
});
