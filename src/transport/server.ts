import { randomUUID } from 'node:crypto';
import fastify, { type FastifyInstance } from 'fastify';
import { admin, type EngineAdmin } from './admin.ts';
import { requireApiKey } from './authentication.ts';
import { chatCompletions } from './chat-completions.ts';
import { answerClientError } from './client-error.ts';
import { completions } from './completions.ts';
import { addDraining } from './drain.ts';
import type { EngineSource } from './engine-source.ts';
import { addErrorReplies, replyWithError } from './error-replies.ts';
import { health } from './health.ts';
import { createInstruments } from './instruments.ts';
import { meteredSource } from './metered-engine.ts';
import { metrics } from './metrics.ts';
import { models } from './models.ts';
import { observe } from './observe.ts';
import { playground } from './playground/playground.ts';
import { tokenize } from './tokenize.ts';
import { addWebSockets, type WebSocketLimits, websocket } from './websocket.ts';

export interface ServerOptions {
  /** Asked for as a bearer token on every route but `/health` and the playground's page. */
  readonly apiKey?: string;
  /** One JSON line a request on stdout; off by default. */
  readonly logger?: boolean;
  /** Milliseconds since 1970, for `created`. */
  readonly now?: () => number;
  readonly webSocket?: Partial<WebSocketLimits>;
  /** Brings `/admin/engine`. */
  readonly admin?: EngineAdmin;
}

const BODY_LIMIT = 1024 * 1024;
/** From the first byte of a request to the last; its reply may take as long as it likes. */
const REQUEST_TIMEOUT_MS = 30_000;

/** The HTTP server around an engine that may still be loading. It does not listen yet, and does not close the engine. */
export function buildServer(engines: EngineSource, options: ServerOptions = {}): FastifyInstance {
  const { apiKey, logger = false, now = Date.now, webSocket = {} } = options;
  const app = fastify({
    logger,
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { connectionsCheckingInterval: REQUEST_TIMEOUT_MS / 6 },
    clientErrorHandler: answerClientError,
    // What is on the wire is what was asked: nothing is coerced, dropped or filled in.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allErrors: false } },
    genReqId: ({ headers }) => clientRequestId(headers['x-request-id']) ?? randomUUID(),
    frameworkErrors: (error, { id }, reply) => replyWithError(reply.header('x-request-id', id), error),
    // Draining has its own 503, in OpenAI's shape; what is left when the server closes is cut off.
    return503OnClosing: false,
    forceCloseConnections: true,
  });
  addErrorReplies(app);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  addDraining(app);
  if (apiKey !== undefined) requireApiKey(app, apiKey);
  addWebSockets(app);
  const instruments = createInstruments();
  const source = meteredSource(engines, instruments);
  app.addHook('onClose', async () => source.stop());

  app.register(health, { source });
  app.register(metrics, { registry: instruments.registry, source });
  app.register(models, { source, now });
  app.register(chatCompletions, { source, now });
  app.register(completions, { source, now });
  app.register(tokenize, { source });
  app.register(websocket, { source, limits: webSocket, hasApiKey: apiKey !== undefined });
  app.register(observe, { source, hasApiKey: apiKey !== undefined });
  app.register(playground);
  if (options.admin) app.register(admin, { source, admin: options.admin, hasApiKey: apiKey !== undefined });
  return app;
}

/** A client's own id, where it is one that can go back into a header and into ids. */
function clientRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\w.:-]{1,128}$/.test(header) ? header : undefined;
}
