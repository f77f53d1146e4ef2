import type { FastifyPluginAsync } from 'fastify';
import type { Tokenizer } from '../core/contracts/index.ts';
import { repeatRequest, streamOptions } from './delivery.ts';
import { checkModel, type EngineSource, readyEngine } from './engine-source.ts';
import { chatGeneration } from './generation-request.ts';
import type { Dialect } from './job.ts';
import { toChatLogprobs } from './logprobs.ts';
import { nullsAreAbsent } from './nulls.ts';
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
      const choicesPerPrompt = body.n ?? 1;
      return respond(
        {
          engine,
          dialect: chatDialect(engine.model.tokenizer),
          requests: repeatRequest(chatGeneration(body, engine), choicesPerPrompt, engine.options.newId),
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
