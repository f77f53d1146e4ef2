import type { FastifyRequest } from 'fastify';
import { RxllmError } from '../../core/errors.ts';
import { isRecord } from '../../core/is-record.ts';
import { bytes, HttpError } from '../errors.ts';
import { withoutNulls } from '../openai/nulls.ts';
import {
  type ChatFields,
  cancelMessage,
  generateFromMessages,
  generateFromPrompt,
  type PromptFields,
} from '../openai/schemas.ts';
import { validationMessage } from '../validation-message.ts';

export type ClientMessage =
  | { readonly type: 'cancel'; readonly id: string }
  | { readonly type: 'generate'; readonly id: string; readonly from: 'messages'; readonly fields: ChatFields }
  | { readonly type: 'generate'; readonly id: string; readonly from: 'prompt'; readonly fields: PromptFields };

/** The JSON object in a frame. @throws RxllmError `RXLLM_INVALID_REQUEST`, HttpError 413 */
export function parseFrame(data: Buffer, isBinary: boolean, maxBytes: number): object {
  if (isBinary) throw invalid('A message is JSON in a text frame; this frame is binary.');
  if (data.byteLength > maxBytes) {
    throw new HttpError(413, 'request_too_large', `The message is larger than ${bytes(maxBytes)}.`);
  }
  const value = parseJson(data.toString());
  if (!isRecord(value)) {
    throw invalid('A message must be a JSON object, such as {"type":"generate","id":"1","prompt":"Once"}.');
  }
  return value;
}

/** Checked against the schemas of the HTTP endpoints. @throws RxllmError `RXLLM_INVALID_REQUEST` */
export function checkMessage(value: object, request: FastifyRequest): ClientMessage {
  const message = withoutNulls(value) as Readonly<Record<string, unknown>>;
  const { type } = message;
  if (type === 'cancel') return check<{ type: 'cancel'; id: string }>(message, cancelMessage, request);
  if (type !== 'generate') throw invalid('type: must be one of "generate", "cancel".', 'type');
  if ('messages' in message) {
    const fields = check<ChatFields>(message, generateFromMessages, request);
    return { type, id: fields.id, from: 'messages', fields };
  }
  if (!('prompt' in message)) throw invalid('messages: give either "messages" or "prompt".', 'messages');
  const fields = check<PromptFields>(message, generateFromPrompt, request);
  return { type, id: fields.id, from: 'prompt', fields };
}

/** Compiled once a schema: fastify keeps the validators. */
function check<T>(value: object, schema: object, request: FastifyRequest): T {
  const validate = request.compileValidationSchema(schema, 'body');
  if (validate(value)) return value as T;
  const { message, param } = validationMessage(validate.errors ?? []);
  throw invalid(message, param);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(`The message is not JSON: ${(error as Error).message}.`);
  }
}

function invalid(message: string, param?: string): RxllmError {
  return new RxllmError('RXLLM_INVALID_REQUEST', message, param === undefined ? {} : { param });
}
