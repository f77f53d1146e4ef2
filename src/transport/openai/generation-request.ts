import type { Engine, GenerateRequest, Prompt } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { toChatMessages } from './chat-messages.ts';
import { toSamplingParams } from './request-params.ts';
import type { ChatFields, PromptFields, ToolFields } from './schemas.ts';
import { checkMessagesFit, checkTextFits } from './text-limit.ts';
import { toToolUse } from './tool-use.ts';

/** What a chat request asks of the engine. @throws RxllmError `RXLLM_INVALID_REQUEST`, `RXLLM_CONTEXT_LENGTH_EXCEEDED` */
export function chatGeneration(body: Omit<ChatFields, 'type' | 'id'> & ToolFields, engine: Engine): GenerateRequest {
  const messages = toChatMessages(body.messages);
  checkMessagesFit(messages, engine);
  const params = toSamplingParams(body, wantedLogprobs(body), engine);
  const { tools, format } = toToolUse(body);
  if (tools !== undefined) checkTextFits('tools', JSON.stringify(tools), engine);
  if (format !== undefined && params.responseFormat !== undefined) {
    const message = 'response_format: a reply that may call tools has no format; set "tool_choice": "none" with it.';
    throw new RxllmError('RXLLM_INVALID_REQUEST', message, { param: 'response_format' });
  }
  return {
    prompt: messages,
    ...(tools && { tools }),
    params: { ...params, ...(format && { responseFormat: format }) },
    ...ownFields(body),
  };
}

/**
 * What a completion request asks of the engine for one of its prompts.
 * @throws RxllmError `RXLLM_INVALID_REQUEST`, `RXLLM_CONTEXT_LENGTH_EXCEEDED`
 */
export function promptGeneration(
  body: Omit<PromptFields, 'type' | 'id' | 'prompt'>,
  prompt: Prompt,
  engine: Engine,
): GenerateRequest {
  if (typeof prompt === 'string') checkTextFits('prompt', prompt, engine);
  return { prompt, params: toSamplingParams(body, body.logprobs, engine), ...ownFields(body) };
}

function wantedLogprobs({ logprobs, top_logprobs }: Pick<ChatFields, 'logprobs' | 'top_logprobs'>): number | undefined {
  if (logprobs === true) return top_logprobs ?? 0;
  if (top_logprobs === undefined) return undefined;
  throw new RxllmError('RXLLM_INVALID_REQUEST', 'top_logprobs: set "logprobs": true with it.', {
    param: 'top_logprobs',
  });
}

function ownFields({
  deadline_ms,
  cache_salt,
}: Pick<ChatFields, 'deadline_ms' | 'cache_salt'>): Pick<GenerateRequest, 'deadlineMs' | 'cacheSalt'> {
  return {
    ...(deadline_ms !== undefined && { deadlineMs: deadline_ms }),
    ...(cache_salt !== undefined && { cacheSalt: cache_salt }),
  };
}
