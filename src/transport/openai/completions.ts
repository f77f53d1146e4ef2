import type { FastifyPluginAsync } from 'fastify';
import type { Engine, Prompt, TokenId, Tokenizer } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { checkModel, type EngineSource, readyEngine } from '../engine-source.ts';
import { repeatRequest, streamOptions } from './delivery.ts';
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
      const prompts = toPrompts(body.prompt);
      return respond(
        {
          engine,
          dialect: completionDialect(engine.model.tokenizer),
          requests: prompts.flatMap((prompt) =>
            repeatRequest(promptGeneration(body, prompt, engine), choicesPerPrompt, engine.options.newId),
          ),
          ...(echoed(body) && {
            echoes: prompts.flatMap((prompt) => Array(choicesPerPrompt).fill(toText(prompt, engine))),
          }),
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

/** @throws RxllmError `RXLLM_INVALID_REQUEST` with logprobs: those of the prompt are not computed */
function echoed({ echo = false, logprobs }: CompletionRequest): boolean {
  if (!echo || logprobs === undefined) return echo;
  const message = 'echo: log-probabilities of the prompt are not computed; leave out either "echo" or "logprobs".';
  throw new RxllmError('RXLLM_INVALID_REQUEST', message, { param: 'echo' });
}

function toText(prompt: Prompt, { model: { tokenizer } }: Engine): string {
  return typeof prompt === 'string' ? prompt : tokenizer.decode(prompt as TokenId[]);
}

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
    whole: ({ text }, logprobs, reason) => ({
      text,
      logprobs: logprobs ? toCompletionLogprobs(logprobs, tokenizer, 0) : null,
      finish_reason: reason,
    }),
  };
}
