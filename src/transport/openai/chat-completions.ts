import type { FastifyPluginAsync } from 'fastify';
import type { Tokenizer, ToolCall } from '../../core/contracts/index.ts';
import { checkModel, type EngineSource, readyEngine } from '../engine-source.ts';
import { repeatRequest, streamOptions } from './delivery.ts';
import { chatGeneration } from './generation-request.ts';
import type { Dialect } from './job.ts';
import { toChatLogprobs } from './logprobs.ts';
import { nullsAreAbsent } from './nulls.ts';
import { respond } from './respond.ts';
import { type ChatCompletionRequest, chatCompletionRequest } from './schemas.ts';
import type { CallPart } from './tool-call-parser.ts';

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
    callPiece: (part, logprobs) => ({
      delta: { tool_calls: [toWireCallPart(part)] },
      logprobs: logprobs ? toChatLogprobs(logprobs, tokenizer) : null,
      finish_reason: null,
    }),
    closing: (reason) => ({ delta: {}, logprobs: null, finish_reason: reason }),
    whole: ({ text, calls }, logprobs, reason) => ({
      message: {
        role: 'assistant',
        content: text === '' && calls.length > 0 ? null : text,
        refusal: null,
        ...(calls.length > 0 && { tool_calls: calls.map(toWireCall) }),
      },
      logprobs: logprobs ? toChatLogprobs(logprobs, tokenizer) : null,
      finish_reason: reason,
    }),
  };
}

function toWireCall({ id, name, arguments: json }: ToolCall) {
  return { id, type: 'function', function: { name, arguments: json } };
}

/** A call opens with its id and name, and its arguments follow in pieces. */
function toWireCallPart(part: CallPart) {
  const { index } = part;
  return part.type === 'call'
    ? { index, id: part.id, type: 'function', function: { name: part.name, arguments: '' } }
    : { index, function: { arguments: part.text } };
}
