import { afterAll, expect, it } from 'vitest';
import { fakeEngine, say } from '../../../test/support/fake-engine.ts';
import { buildServer } from '../server.ts';

const engine = fakeEngine(() => say(['ok']));
const routes: string[] = [];
const app = buildServer({ engine: () => engine }, { admin: { names: [], swap: async () => engine } });
app.addHook('onRoute', ({ method, url, schema }) => {
  if (schema?.hide) return;
  for (const one of [method].flat()) if (one !== 'HEAD') routes.push(`${one} ${url.replaceAll(/:(\w+)/g, '{$1}')}`);
});
afterAll(() => app.close());
const description = (await app.inject('/openapi.json')).json();

it('describes every route', () => {
  const described = Object.entries<object>(description.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes).toContain('POST /v1/chat/completions');
  expect(described.toSorted()).toEqual([...new Set(routes)].toSorted());
});

it('each with what it does, and the shape of its errors', () => {
  expect(description.openapi).toBe('3.1.0');
  for (const methods of Object.values<object>(description.paths)) {
    for (const route of Object.values(methods)) {
      expect(route.summary).toEqual(expect.any(String));
      for (const status of ['4XX', '5XX']) {
        const { error } = route.responses[status].content['application/json'].schema.properties;
        expect(Object.keys(error.properties)).toEqual(['message', 'type', 'param', 'code']);
      }
    }
  }
});

it('has the schemas that check the bodies', () => {
  const { post } = description.paths['/v1/chat/completions'];
  const { schema } = post.requestBody.content['application/json'];
  expect(schema.required).toEqual(['messages']);
  expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(['tools', 'response_format', 'guided_regex']));
  expect(Object.keys(post.responses[200].content)).toEqual(['application/json', 'text/event-stream']);
});

it('changes nothing of the replies', async () => {
  const payload = { messages: [{ role: 'user', content: 'hi' }] };
  const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload });
  expect(reply.json()).toMatchObject({ choices: [{ message: { content: 'ok' } }], metrics: { output_tokens: 1 } });
});
