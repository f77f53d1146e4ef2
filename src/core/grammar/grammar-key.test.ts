import { expect, it } from 'vitest';
import type { JsonSchema, Tool } from '../contracts/index.ts';
import { grammarKey } from './grammar-key.ts';

const keyOf = (tool: Tool) => grammarKey({ type: 'tool_calls', tools: [tool], required: true, parallel: true });

it('what a tool is for does not tell grammars apart, what it takes does', () => {
  expect(keyOf({ name: 'f', description: 'a' })).toBe(keyOf({ name: 'f', description: 'b' }));
  expect(keyOf({ name: 'f', strict: true })).not.toBe(keyOf({ name: 'f' }));
  expect(keyOf({ name: 'f', parameters: { type: 'object' } })).not.toBe(keyOf({ name: 'f' }));
});

it.each([1_000, 100_000])('a schema whose parts lie in each other %i deep has no key', (depth) => {
  let schema: JsonSchema = { type: 'integer' };
  for (let level = 0; level < depth; level++) schema = { type: 'array', items: schema };
  expect(() => grammarKey({ type: 'json_schema', schema })).toThrow(
    expect.objectContaining({ code: 'RXLLM_GRAMMAR_TOO_LARGE', param: 'responseFormat' }),
  );
});
