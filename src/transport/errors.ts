import type { FastifyBaseLogger, FastifyError } from 'fastify';
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

/** A field of a request that its schema lets through and that is wrong all the same. */
export function invalidField(param: string, problem: string): RxllmError {
  return new RxllmError('RXLLM_INVALID_REQUEST', `${param}: ${problem}.`, { param });
}

/** Logs what is the server's own fault: that a model is loading, or a server full or closing, is none. */
export function logFault(log: FastifyBaseLogger, status: number, error: unknown): void {
  if (status === 500) log.error(error);
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

/**
 * Any thrown value as a reply. A 500 is told without the error's own message, which may hold paths: the log has it,
 * under the request's id.
 */
export function toErrorReply(error: unknown, requestId?: string): ErrorReply {
  if (error instanceof RxllmError || error instanceof HttpError) {
    if (error.status === 500) return internalError(error.code, requestId);
    return errorReply(error.status, error.code, error.message, error.param);
  }
  const { statusCode, code, validation } = error as Partial<FastifyError>;
  if (validation !== undefined) {
    const { message, param } = validationMessage(validation);
    return errorReply(400, 'RXLLM_INVALID_REQUEST', message, param);
  }
  if (statusCode === 415) {
    return errorReply(415, 'unsupported_media_type', 'The body must be JSON: send "Content-Type: application/json".');
  }
  // Fastify's other client errors speak of the request only: a body that is empty or is not JSON, a bad URL.
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return errorReply(statusCode, code ?? 'RXLLM_INVALID_REQUEST', (error as Error).message);
  }
  return internalError('internal_error', requestId);
}

function internalError(code: string, requestId: string | undefined): ErrorReply {
  const which = requestId === undefined ? '' : `; its log tells why, under the request id ${requestId}`;
  return errorReply(500, code, `The server failed while handling this request${which}.`);
}

function errorReply(status: number, code: string, message: string, param?: string): ErrorReply {
  return { status, body: { error: { message, type: errorType(status), param: param ?? null, code } } };
}

/** A limit for people to read. */
export function bytes(count: number): string {
  return count % 1024 ** 2 === 0 ? `${count / 1024 ** 2} MiB` : `${count} bytes`;
}

function errorType(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}
