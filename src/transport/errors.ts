import type { FastifyError } from 'fastify';
import { RxllmError } from '../core/errors.ts';
import { validationMessage } from './validation-message.ts';

/** An error of the HTTP layer itself: no route, no key, still loading. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly code: string;
  readonly param: string | undefined;

  constructor(status: number, code: string, message: string, param?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

/** OpenAI's error object, as clients parse it. */
export interface WireError {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}

export interface ErrorReply {
  readonly status: number;
  readonly body: WireError;
}

/** Any thrown value as a reply. What rxllm did not raise itself is told as a 500 without its message, which may hold paths. */
export function toErrorReply(error: unknown): ErrorReply {
  if (error instanceof RxllmError || error instanceof HttpError) {
    return errorReply(error.status, error.code, error.message, error.param);
  }
  const { statusCode, code, validation } = error as Partial<FastifyError>;
  if (validation !== undefined) {
    const { message, param } = validationMessage(validation);
    return errorReply(400, 'RXLLM_INVALID_REQUEST', message, param);
  }
  if (statusCode === 413) return errorReply(413, 'request_too_large', 'The request body is larger than 1 MiB.');
  if (statusCode === 415) {
    return errorReply(415, 'unsupported_media_type', 'The body must be JSON: send "Content-Type: application/json".');
  }
  // Fastify's other client errors speak of the request only: a body that is empty or is not JSON, a bad URL.
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return errorReply(statusCode, code ?? 'RXLLM_INVALID_REQUEST', (error as Error).message);
  }
  return errorReply(500, 'internal_error', 'The server failed while handling this request.');
}

function errorReply(status: number, code: string, message: string, param?: string): ErrorReply {
  return { status, body: { error: { message, type: errorType(status), param: param ?? null, code } } };
}

function errorType(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}
