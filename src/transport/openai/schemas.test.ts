import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { buildServer } from '../server.ts';
import { chatCompletionRequest, completionRequest } from './schemas.ts';

const engine = fakeEngine(() => say(['ok']));
const app = buildServer({ engine: () => engine });
afterAll(() => app.close());

/** Bodies that are right but for one field. */
const body = (schema: { properties: object }, valid: object) =>
  fc
    // Fastify refuses a body with a `__proto__` key as a whole, before the schema sees it.
    .tuple(
      fc.constantFrom(...Object.keys(schema.properties)),
      fc.jsonValue({ maxDepth: 4 }).filter((value) => !JSON.stringify(value).includes('"__proto__"')),
    )
    .map(([field, value]) => ({ ...valid, [field]: value }));

it.each([
  ['/v1/chat/completions', chatCompletionRequest, { messages: [{ role: 'user', content: 'hi' }] }],
  ['/v1/completions', completionRequest, { prompt: 'hi' }],
] as const)('%s answers any value of any field with 200, 400 or 404', async (url, schema, valid) => {
  await fc.assert(
    fc.asyncProperty(body(schema, valid), async (payload) => {
      const reply = await app.inject({ method: 'POST', url, payload });
      expect([200, 400, 404]).toContain(reply.statusCode);
      if (reply.statusCode === 200) return;
      expect(reply.json().error).toMatchObject({ type: 'invalid_request_error', param: expect.any(String) });
    }),
    { numRuns: 300 },
  );
});
