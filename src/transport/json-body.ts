import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HttpError } from './errors.ts';

/** Fastify's own parser, set to refuse the names of properties with which prototypes are written to. */
const safeParser = (app: FastifyInstance) => app.getDefaultJsonParser('error', 'error');

/** Tells a body that the parser refuses for the name of a property from one that is no JSON. */
export function parseJsonBodies(app: FastifyInstance): void {
  const parse = safeParser(app);
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) =>
    parse(request, body, (error, value) => done(error && isJson(body) ? unsafeProperty() : error, value)),
  );
}

/** The same for JSON that comes otherwise: the function throws an HttpError where a body would be refused for a name. */
export function refuseUnsafeNames(app: FastifyInstance): (json: string, request: FastifyRequest) => void {
  const parse = safeParser(app);
  return (json, request) => {
    let isRefused = false;
    parse(request, json, (error) => {
      isRefused = Boolean(error);
    });
    if (isRefused) throw unsafeProperty();
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function unsafeProperty(): HttpError {
  const message =
    'A property named "__proto__", or "constructor" with a "prototype" in it, is not supported at any depth; give it ' +
    'another name.';
  return new HttpError(400, 'RXLLM_INVALID_REQUEST', message);
}
