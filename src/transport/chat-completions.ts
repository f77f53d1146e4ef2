import type { FastifyPluginAsync } from 'fastify';
import type { GenerateRequest, Tokenizer } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { toChatMessages } from './chat-messages.ts';
import { checkModel, type EngineSource, readyEngine } from './engine-source.ts';
import { repeatRequest, streamOptions } from './generation-request.ts';
import type { Dialect } from './job.ts';
import { toChatLogprobs } from './logprobs.ts';
import { nullsAreAbsent } from './nulls.ts';
import { toSamplingParams } from './request-params.ts';
import { respond } from './respond.ts';
import { type ChatCompletionRequest, chatCompletionRequest } from './schemas.ts';

/** `POST /v1/chat/completions`, as JSON or as server-sent events. */
export const chatCompletions: FastifyPluginAsync<{
  readonly source: EngineSource;
  readonly now: () => number;
}> = async (app, { source, now }) => {
  app.post<{ Body: ChatCompletionRequest }>(
    '/v1/chat/completions',
    { schema: { body: chatCompletionRequest }, preValidation: nullsAreAbsent },
    async (request, reply) => {
      const { body } = request;
      const engine = readyEngine(source);
      checkModel(engine, body.model);
      const generation: GenerateRequest = {
        prompt: toChatMessages(body.messages),
        params: toSamplingParams(body, wantedLogprobs(body), engine),
        ...(body.deadline_ms !== undefined && { deadlineMs: body.deadline_ms }),
      };
      const choicesPerPrompt = body.n ?? 1;
      return respond(
        {
          engine,
          dialect: chatDialect(engine.model.tokenizer),
          requests: repeatRequest(generation, choicesPerPrompt),
          choicesPerPrompt,
          ...streamOptions(body),
          created: Math.floor(now() / 1000),
        },
        request,
        reply,
      );
    },
  );
};

function wantedLogprobs({ logprobs, top_logprobs }: ChatCompletionRequest): number | undefined {
  if (logprobs === true) return top_logprobs ?? 0;
  if (top_logprobs === undefined) return undefined;
  throw new RxllmError('RXLLM_INVALID_REQUEST', 'top_logprobs: set "logprobs": true with it.', {
    param: 'top_logprobs',
  });
}

function chatDialect(tokenizer: Tokenizer): Dialect {
  return {
    idPrefix: 'chatcmpl',
    object: 'chat.completion',
    chunkObject: 'chat.completion.chunk',
    promptField: 'messages',
    opening: { delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null },
    piece: (content, logprobs) => ({
      delta: { content },
      logprobs: logprobs ? toChatLogprobs(logprobs, tokenizer) : null,
      finish_reason: null,
    }),
    closing: (reason) => ({ delta: {}, logprobs: null, finish_reason: reason }),
    whole: (content, logprobs, reason) => ({
      message: { role: 'assistant', content, refusal: null },
      logprobs: logprobs ? toChatLogprobs(logprobs, tokenizer) : null,
      finish_reason: reason,
    }),
  };
}
