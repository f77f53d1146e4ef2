import type { GenerateResult, TokenEvent, Tokenizer } from '../../core/contracts/index.ts';
import { toErrorReply } from '../errors.ts';
import { toChatLogprobs } from '../openai/logprobs.ts';
import { toUsage, toWireMetrics } from '../openai/usage.ts';

/** An engine's event as a message to the client of stream `id`; undefined for those that it is not told of. */
export function toServerMessage(id: string, event: TokenEvent, tokenizer: Tokenizer): object | undefined {
  switch (event.type) {
    case 'queued':
      return { type: 'queued', id, position: event.position };
    case 'token':
      return {
        type: 'token',
        id,
        text: event.text,
        token_id: event.id,
        ...(event.logprobs && { logprobs: toChatLogprobs([event.logprobs], tokenizer).content[0] }),
      };
    case 'finished':
      return finishedMessage(id, event.result);
    default:
      return undefined;
  }
}

function finishedMessage(id: string, result: GenerateResult): object {
  return {
    type: 'finished',
    id,
    finish_reason: result.finishReason,
    usage: toUsage([result], 1),
    metrics: toWireMetrics(result.metrics),
  };
}

/** `id` is left out where the error belongs to no stream; `requestId` is the socket's. */
export function errorMessage(error: unknown, id: string | undefined, requestId: string): object {
  const { code, message, param } = toErrorReply(error, requestId).body.error;
  return { type: 'error', ...(id !== undefined && { id }), code, message, ...(param !== null && { param }) };
}
