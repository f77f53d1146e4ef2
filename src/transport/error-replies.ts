import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify';
import { bytes, HttpError, logFault, toErrorReply } from './errors.ts';

/** Gives every error of the server, unknown routes and methods too, the shape that OpenAI's clients read. */
export function addErrorReplies(app: FastifyInstance): void {
  const routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    // Preflights of any path: no route of its own.
    if (url === '*') return;
    routes.push({ pattern: new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+')}/?$`), methods: [method].flat() });
  });
  app.setErrorHandler((error, { routeOptions: { bodyLimit } }, reply) => {
    const tooLarge = (error as Partial<FastifyError>).statusCode === 413;
    replyWithError(reply, tooLarge ? bodyTooLarge(bodyLimit) : error);
  });
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.replace(/\?.*$/, '');
    const methods = routes.filter(({ pattern }) => pattern.test(path)).flatMap((route) => route.methods);
    if (methods.length === 0) {
      return replyWithError(reply, new HttpError(404, 'not_found', `There is no ${request.method} ${path} here.`));
    }
    const allowed = [...new Set(methods)].join(', ');
    reply.header('allow', allowed);
    return replyWithError(
      reply,
      new HttpError(405, 'method_not_allowed', `${path} does not take ${request.method}; use ${allowed}.`),
    );
  });
}

function replyWithError(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, body } = toErrorReply(error, reply.request.id);
  logFault(reply.log, status, error);
  if (status === 429) reply.header('retry-after', '1');
  return reply.code(status).send(body);
}

function bodyTooLarge(limit: number): HttpError {
  return new HttpError(413, 'request_too_large', `The request body is larger than ${bytes(limit)}.`);
}
