import { afterAll, describe, expect, it } from 'vitest';
import { serveEmbedded } from '../../../test/support/real-server.ts';

const server = await serveEmbedded();
afterAll(() => server.close());

const nested = (inside: string, depth: number) => '('.repeat(depth) + inside + ')'.repeat(depth);
const FORMATS = {
  guided_regex: (depth: number) => ({ guided_regex: nested('owl', depth) }),
  guided_grammar: (depth: number) => ({ guided_grammar: `root ::= ${nested('"owl"', depth)}` }),
};

const ask = (fields: object) => server.post('/v1/completions', { prompt: 'A', max_tokens: 8, ...fields });

describe.each(Object.entries(FORMATS))('%s with parentheses in each other', (param, format) => {
  it('10 deep is followed', async () => {
    const { status, body } = await ask(format(10));
    expect([status, body.choices[0]?.text]).toEqual([200, 'owl']);
  });

  it.each([
    [250, 'its parentheses lie in each other 250 deep; at most 128 are compiled. Make it flatter: '],
    [1000, 'its parentheses lie in each other 1000 deep; at most 128 are compiled. Make it flatter: '],
    [100_000, 'characters; at most 32768 are compiled. Make it smaller: '],
  ])('%i deep is refused uncompiled, with what to change', async (depth, message) => {
    const { status, body } = await ask(format(depth));
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ param, code: 'RXLLM_GRAMMAR_TOO_LARGE' });
    expect(body.error.message).toMatch(new RegExp(`^${param}: `));
    expect(body.error.message).toContain(message);
    expect((await ask({})).status).toBe(200);
  });
});

it('a pattern in a schema, too', async () => {
  const schema = { type: 'string', pattern: nested('owl', 250) };
  const { status, body } = await ask({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } });
  expect([status, body.error.code]).toEqual([400, 'RXLLM_GRAMMAR_TOO_LARGE']);
  expect(body.error.message).toContain('leave out parentheses that are not needed');
  expect((await ask({ guided_regex: 'owl' })).body.choices[0]?.text).toBe('owl');
});

it.each(['[', '(['])('many unclosed "%s" are refused', async (part) => {
  expect((await ask({ guided_regex: part.repeat(16_000) })).status).toBe(400);
});
