import type { FastifyInstance } from 'fastify';
import { scan } from 'secure-json-parse';
import { HttpError } from './errors.ts';

/** Fastify's own parser, set to refuse the names of properties with which prototypes are written to; says which was it. */
export function parseJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) =>
    parse(request, body, (error, value) => done(error && isJson(body) ? unsafeProperty() : error, value)),
  );
}

/** The same for JSON that is no body. @throws HttpError */
export function refuseUnsafeNames(parsed: object): void {
  if (scan(parsed, { safe: true }) === null) throw unsafeProperty();
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
