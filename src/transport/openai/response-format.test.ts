import { describe, expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { RxllmError } from '../../core/errors.ts';
import { buildServer } from '../server.ts';

const schema = { type: 'object', properties: { a: { const: null } } };
const jsonSchema = (fields: object) => ({ response_format: { type: 'json_schema', ...fields } });

async function ask(body: object) {
  const engine = fakeEngine(() => say(['ok']));
  const app = buildServer({ engine: () => engine });
  const payload = { messages: [{ role: 'user', content: 'hi' }], ...body };
  const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload });
  await app.close();
  return { status: reply.statusCode, error: reply.json().error, params: engine.requests[0]?.params };
}

it.each([
  [{ response_format: { type: 'text' } }, undefined],
  [{ response_format: { type: 'json_object' } }, { type: 'json_object' }],
  // null has a meaning in a schema, and only there.
  [
    jsonSchema({ json_schema: { name: 'a', description: null, strict: true, schema } }),
    { type: 'json_schema', schema, strict: true },
  ],
  [jsonSchema({ json_schema: { name: 'a', schema: true } }), { type: 'json_schema', schema: true, strict: false }],
  [{ guided_regex: 'a+' }, { type: 'regex', pattern: 'a+' }],
  [{ guided_choice: ['a', 'b'] }, { type: 'choice', choices: ['a', 'b'] }],
  [{ guided_grammar: 'root ::= "a"' }, { type: 'grammar', grammar: 'root ::= "a"' }],
  [
    { response_format: { type: 'text' }, guided_regex: 'a' },
    { type: 'regex', pattern: 'a' },
  ],
])('%j becomes %j', async (body, format) => {
  const { status, params } = await ask(body);
  expect(status).toBe(200);
  expect(params?.responseFormat).toEqual(format);
});

describe('what is refused', () => {
  it.each([
    [
      { response_format: { type: 'xml' } },
      'response_format.type',
      'must be one of "text", "json_object", "json_schema"',
    ],
    [{ response_format: 'json' }, 'response_format', 'must be object'],
    [{ response_format: {} }, 'response_format.type', 'this field is required'],
    [jsonSchema({}), 'response_format.json_schema', 'this field is required'],
    [jsonSchema({ json_schema: { name: 'a' } }), 'response_format.json_schema.schema', 'this field is required'],
    [
      { response_format: { type: 'json_object', json_schema: { schema } } },
      'response_format.json_schema',
      'it goes with',
    ],
    [{ guided_choice: [] }, 'guided_choice', 'must NOT have fewer than 1 items'],
    [{ guided_choice: [''] }, 'guided_choice[0]', 'must NOT have fewer than 1 characters'],
    [{ guided_regex: '' }, 'guided_regex', 'must NOT have fewer than 1 characters'],
    [{ guided_regex: 'a', guided_choice: ['a'] }, 'guided_choice', 'one format only, and there is guided_regex'],
    [
      { response_format: { type: 'json_object' }, guided_grammar: 'x' },
      'guided_grammar',
      'and there is response_format',
    ],
    [{ guided_regex: 'a', ignore_eos: true }, 'ignore_eos', 'a text that follows a format ends with it'],
    [
      { guided_json: {} },
      'guided_json',
      'instead give "response_format": {"type": "json_schema", "json_schema": {"name": …, "schema": …}}.',
    ],
    [{ structured_outputs: { regex: 'a' } }, 'structured_outputs', 'regex as "guided_regex"'],
    [{ guided_decoding_backend: 'outlines' }, 'guided_decoding_backend', 'remove it, for XGrammar compiles every'],
    [{ json_schema: {} }, 'json_schema', 'instead give "response_format"'],
  ])('%j names %s', async (body, param, message) => {
    const { status, error, params } = await ask(body);
    expect(status).toBe(400);
    expect(error.param).toBe(param);
    expect(error.message).toContain(message);
    expect(params).toBeUndefined();
  });
});

it.each([
  [{ response_format: { type: 'json_object' } }, 'response_format'],
  [{ guided_regex: 'a' }, 'guided_regex'],
  [{ tools: [{ type: 'function', function: { name: 'f' } }] }, 'tools'],
])('what the engine finds wrong with the format of %j is told under its field', async (body, param) => {
  const error = new RxllmError('RXLLM_GRAMMAR_INVALID', 'responseFormat: no.', { param: 'responseFormat' });
  const engine = fakeEngine(() => [{ type: 'fail', error }]);
  const app = buildServer({ engine: () => engine });
  const payload = { messages: [{ role: 'user', content: 'hi' }], ...body };
  const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload });
  expect(reply.statusCode).toBe(400);
  expect(reply.json().error).toMatchObject({ code: error.code, param, message: `${param}: no.` });
  await app.close();
});
