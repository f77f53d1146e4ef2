import type { FastifyPluginAsync } from 'fastify';
import type { Prompt, Tokenizer } from '../core/contracts/index.ts';
import { repeatRequest, streamOptions } from './delivery.ts';
import { checkModel, type EngineSource, readyEngine } from './engine-source.ts';
import { promptGeneration } from './generation-request.ts';
import type { Dialect } from './job.ts';
import { toCompletionLogprobs } from './logprobs.ts';
import { nullsAreAbsent } from './nulls.ts';
import { respond } from './respond.ts';
import { type CompletionRequest, completionRequest } from './schemas.ts';

/** `POST /v1/completions`: one or several prompts, as text or as token ids. */
export const completions: FastifyPluginAsync<{ readonly source: EngineSource; readonly now: () => number }> = async (
  app,
  { source, now },
) => {
  app.post<{ Body: CompletionRequest }>(
    '/v1/completions',
    { schema: { body: completionRequest }, preValidation: nullsAreAbsent },
    async (request, reply) => {
      const { body } = request;
      const engine = readyEngine(source);
      checkModel(engine, body.model);
      const choicesPerPrompt = body.n ?? 1;
      return respond(
        {
          engine,
          dialect: completionDialect(engine.model.tokenizer),
          requests: toPrompts(body.prompt).flatMap((prompt) =>
            repeatRequest(promptGeneration(body, prompt, engine), choicesPerPrompt, engine.options.newId),
          ),
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

function toPrompts(prompt: CompletionRequest['prompt']): readonly Prompt[] {
  if (typeof prompt === 'string') return [prompt];
  return typeof prompt[0] === 'number' ? [prompt as number[]] : (prompt as string[] | number[][]);
}

function completionDialect(tokenizer: Tokenizer): Dialect {
  return {
    idPrefix: 'cmpl',
    object: 'text_completion',
    chunkObject: 'text_completion',
    promptField: 'prompt',
    piece: (text, logprobs, offset) => ({
      text,
      logprobs: logprobs ? toCompletionLogprobs(logprobs, tokenizer, offset) : null,
      finish_reason: null,
    }),
    closing: (reason) => ({ text: '', logprobs: null, finish_reason: reason }),
    whole: (text, logprobs, reason) => ({
      text,
      logprobs: logprobs ? toCompletionLogprobs(logprobs, tokenizer, 0) : null,
      finish_reason: reason,
    }),
  };
}
