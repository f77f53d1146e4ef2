import type { FastifyInstance } from 'fastify';
import { HttpError } from './errors.ts';

/** Tells a body that fastify's own parser refuses for the name of a property from one that is no JSON. */
export function parseJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) =>
    parse(request, body, (error, value) => done(error && isJson(body) ? unsafeProperty() : error, value)),
  );
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
    'A property named "__proto__", or "constructor" with a "prototype" in it, is not supported anywhere in the body; ' +
    'give it another name.';
  return new HttpError(400, 'RXLLM_INVALID_REQUEST', message);
}
