import type { FastifyRequest } from 'fastify';

/** A `null` field counts as absent (OpenAI's own clients send it): a `preValidation` hook, so nulls go before the schema is applied. */
export async function nullsAreAbsent(request: FastifyRequest): Promise<void> {
  request.body = withoutNulls(request.body);
}

/** What a client writes here is its own: in a JSON schema null is a value. */
const OPAQUE = ['schema', 'parameters', 'metadata'];

/** The value without its fields that are null. The depth is that of the deepest optional field, `messages[].content[].text`: hostile nesting is not followed. */
export function withoutNulls(value: unknown, depth = 5): unknown {
  if (depth === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth - 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null)
      .map(([name, field]) => [name, OPAQUE.includes(name) ? field : withoutNulls(field, depth - 1)]),
  );
}
