import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import type { JsonSchema } from '../../src/core/contracts/index.ts';
import type { RealServer } from './real-server.ts';

/** Enough for the longest text of each schema, a token a character. */
const MAX_TOKENS = 600;

export interface Outcome {
  readonly schema: JsonSchema;
  readonly reason: string | null;
  readonly text: string;
}

/** Asks for a reply to each schema at temperature 1, and checks each that ends with `stop`. */
export async function askForEach({ post }: RealServer, schemas: readonly JsonSchema[]): Promise<Outcome[]> {
  const ajv = new Ajv2020({ strict: false });
  return Promise.all(
    schemas.map(async (schema, seed) => {
      const { status, body } = await post('/v1/chat/completions', {
        messages: [{ role: 'user', content: 'Tell me something.' }],
        temperature: 1,
        top_p: 1,
        seed,
        max_tokens: MAX_TOKENS,
        response_format: { type: 'json_schema', json_schema: { name: 'reply', strict: true, schema } },
      });
      expect(status, JSON.stringify(body)).toBe(200);
      const { message, finish_reason: reason } = body.choices[0]!;
      const text = message!.content;
      if (reason === 'stop') {
        const fits = ajv.validate(schema, JSON.parse(text));
        expect(fits, `${JSON.stringify(schema)}\n${text}\n${ajv.errorsText()}`).toBe(true);
      }
      return { schema, reason, text };
    }),
  );
}
