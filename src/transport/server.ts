import { randomUUID } from 'node:crypto';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { type Logger, pino } from 'pino';
import { allowHosts } from './access/allowed-hosts.ts';
import { requireApiKey } from './access/authentication.ts';
import { limitConnections } from './access/connection-limit.ts';
import { allowOrigins } from './access/cors.ts';
import { admin, type EngineAdmin } from './admin/admin.ts';
import { observe } from './admin/observe.ts';
import { refuseBadUrls, sendOnBadUrl } from './bad-url.ts';
import { answerClientError } from './client-error.ts';
import { addDraining } from './drain.ts';
import type { EngineSource } from './engine-source.ts';
import { addErrorReplies } from './error-replies.ts';
import { refuseExpectations } from './expectation.ts';
import { health } from './health.ts';
import { parseJsonBodies } from './json-body.ts';
import { createInstruments } from './metrics/instruments.ts';
import { meteredSource } from './metrics/metered-engine.ts';
import { metrics } from './metrics/metrics.ts';
import { chatCompletions } from './openai/chat-completions.ts';
import { completions } from './openai/completions.ts';
import { models } from './openai/models.ts';
import { addOpenApi } from './openai/openapi.ts';
import { tokenize } from './openai/tokenize.ts';
import { playground } from './playground/playground.ts';
import { logRequests } from './request-log.ts';
import { logStatus } from './status-line.ts';
import type { WebSocketLimits } from './websocket/serve-socket.ts';
import { addWebSockets, WEBSOCKET_LIMITS, websocket } from './websocket/websocket.ts';

export interface ServerOptions {
  /** One of them is asked for as a bearer token on every route but `/health` and the playground's page; default: none is. */
  readonly apiKeys?: readonly string[];
  /** Origins whose pages may call the API from a browser; default: none but its own. */
  readonly corsOrigins?: readonly string[];
  /** Names, beside `localhost`, by which a server without a key that listens on this machine alone may be called. */
  readonly allowedHosts?: readonly string[];
  readonly limits?: Partial<ServerLimits>;
  /** Errors, the status line, and, at `debug`, a line a request; default: errors, to stderr. */
  readonly logger?: Logger;
  /** Milliseconds between status lines; default: none. */
  readonly statusMs?: number;
  /** Milliseconds since 1970, for `created`. */
  readonly now?: () => number;
  readonly webSocket?: Partial<WebSocketLimits>;
  /** Brings `/admin/engine`. */
  readonly admin?: EngineAdmin;
}

export interface ServerLimits {
  /** Bytes of a request's body; a longer one gets 413. */
  readonly maxBody: number;
  /** Open at once, WebSockets included; one more gets 503. */
  readonly maxConnections: number;
}

export const SERVER_LIMITS: ServerLimits = { maxBody: 1024 ** 2, maxConnections: 4096 };

/** From the first byte of a request to the last; its reply may take as long as it likes. */
const REQUEST_TIMEOUT_MS = 30_000;

/** The HTTP server around an engine that may still be loading. It does not listen yet, and does not close the engine. */
export function buildServer(engines: EngineSource, options: ServerOptions = {}): FastifyInstance {
  const { apiKeys = [], corsOrigins = [], allowedHosts = [], statusMs, now = Date.now } = options;
  const { logger = pino({ level: 'error' }, process.stderr) } = options;
  const { maxBody, maxConnections } = { ...SERVER_LIMITS, ...options.limits };
  const webSocket = { ...WEBSOCKET_LIMITS, ...options.webSocket };
  const hasApiKey = apiKeys.length > 0;
  const app = fastify({
    loggerInstance: withoutNews(logger),
    // It has lines of its own.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: maxBody,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { connectionsCheckingInterval: REQUEST_TIMEOUT_MS / 6 },
    clientErrorHandler: answerClientError,
    // What is on the wire is what was asked: nothing is coerced, dropped or filled in.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allErrors: false } },
    genReqId: ({ headers }) => clientRequestId(headers['x-request-id']) ?? randomUUID(),
    frameworkErrors: sendOnBadUrl,
    // vLLM redirects a path with a slash behind it to the one without; here both are served.
    routerOptions: { ignoreTrailingSlash: true },
    // Draining has its own 503, in OpenAI's shape; what is left when the server closes is cut off.
    return503OnClosing: false,
    forceCloseConnections: true,
  });
  addErrorReplies(app);
  refuseBadUrls(app);
  parseJsonBodies(app);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  if (logger.isLevelEnabled('debug')) logRequests(app);
  // In front of all that may refuse one: that its connection is then closed belongs to the reply.
  addWebSockets(app, webSocket);
  refuseExpectations(app);
  limitConnections(app, maxConnections);
  addDraining(app);
  if (corsOrigins.length > 0) allowOrigins(app, corsOrigins);
  // Behind CORS, whose preflights bring no key, and whose headers a page needs to read that its key is wrong.
  if (hasApiKey) app.after(() => requireApiKey(app, apiKeys));
  else app.after(() => allowHosts(app, allowedHosts));
  addOpenApi(app);
  const instruments = createInstruments();
  if (statusMs !== undefined) logStatus(app, logger, instruments, statusMs);
  const source = meteredSource(engines, instruments);
  app.addHook('onClose', async () => source.stop());

  app.register(health, { source });
  app.register(metrics, { registry: instruments.registry, source });
  app.register(models, { source, now });
  app.register(chatCompletions, { source, now });
  app.register(completions, { source, now });
  app.register(tokenize, { source });
  app.register(websocket, { source, limits: webSocket, origins: hasApiKey ? ['*'] : corsOrigins });
  app.register(observe, { source, hasApiKey });
  app.register(playground);
  if (options.admin) app.register(admin, { source, admin: options.admin, hasApiKey });
  return app;
}

/** For fastify, whose lines at `info` tell no more than that it listens. */
function withoutNews(logger: Logger): FastifyBaseLogger {
  return logger.level === 'info' ? logger.child({}, { level: 'warn' }) : logger;
}

/** A client's own id, where it is one that can go back into a header and into ids. */
function clientRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\w.:-]{1,128}$/.test(header) ? header : undefined;
}
