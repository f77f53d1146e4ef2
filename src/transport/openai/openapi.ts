import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import type { TSchema } from 'typebox';
import * as replies from './reply-schemas.ts';

interface RouteText {
  readonly summary: string;
  /** What a 200 has, by media type. */
  readonly ok?: Readonly<Record<string, TSchema>>;
}

const JSON_TYPE = 'application/json';
const json = (schema: TSchema) => ({ [JSON_TYPE]: schema });
const streamed = (whole: TSchema, event: TSchema) => ({ [JSON_TYPE]: whole, 'text/event-stream': event });

/** What the schemas of the routes themselves do not say. */
const ROUTES: Readonly<Record<string, RouteText>> = {
  'POST /v1/chat/completions': {
    summary: 'Answers a chat, as JSON or, with "stream", as server-sent events that end with [DONE].',
    ok: streamed(replies.chatCompletion, replies.chatCompletionChunk),
  },
  'POST /v1/completions': {
    summary: 'Continues one or several prompts, as JSON or, with "stream", as server-sent events that end with [DONE].',
    ok: streamed(replies.completion, replies.completionChunk),
  },
  'GET /v1/models': { summary: 'The model that is served.', ok: json(replies.modelList) },
  'GET /v1/models/{id}': { summary: 'The same, by its name.', ok: json(replies.model) },
  'POST /tokenize': { summary: 'The token ids of a prompt or of a chat.', ok: json(replies.tokens) },
  'POST /detokenize': { summary: 'The text of token ids.', ok: json(replies.detokenized) },
  'GET /v1/stream': {
    summary: 'A WebSocket with many token streams; its messages are JSON. A plain GET is answered with 426.',
  },
  'GET /health': {
    summary: '200 once requests are served, 503 while the model is loading.',
    ok: json(replies.healthy),
  },
  'GET /metrics': { summary: "Prometheus' text format." },
  'GET /admin/engine': { summary: 'Which engine serves, and which there are.', ok: json(replies.engineState) },
  'PUT /admin/engine': {
    summary: 'Lets another engine serve; running requests finish on the old one.',
    ok: json(replies.engineState),
  },
  'GET /admin/observe': {
    summary: 'Server-sent events that show the engine step by step: rows, queue, KV blocks and who holds them.',
  },
  'GET /openapi.json': { summary: 'This description.' },
};

const failed = {
  description: 'What is wrong, and what to change.',
  content: { [JSON_TYPE]: { schema: replies.errorReply } },
};

/** `GET /openapi.json`: the routes that are registered from now on, with the schemas that check their bodies (OpenAPI 3.1). */
export function addOpenApi(app: FastifyInstance): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'rxllm', version: '0.1.0', description: 'An OpenAI-compatible server for language models.' },
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
      // With a key, or without where the server has none.
      security: [{ key: [] }, {}],
    },
    transform: ({ schema = {}, url, route }) => {
      const { summary, ok } = ROUTES[`${route.method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`] ?? {};
      const content = ok && Object.fromEntries(Object.entries(ok).map(([type, one]) => [type, { schema: one }]));
      const response = { 200: { description: 'OK', ...(content && { content }) }, '4XX': failed, '5XX': failed };
      return { url, schema: { ...schema, ...(summary !== undefined && { summary }), response } };
    },
  });
  app.register(async (routes) => {
    routes.get('/openapi.json', async () => app.swagger());
  });
}
