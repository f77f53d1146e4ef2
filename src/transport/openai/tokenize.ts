import type { FastifyPluginAsync } from 'fastify';
import type { Engine, TokenId } from '../../core/contracts/index.ts';
import { RxllmError } from '../../core/errors.ts';
import { checkModel, type EngineSource, readyEngine } from '../engine-source.ts';
import { toChatMessages } from './chat-messages.ts';
import { nullsAreAbsent } from './nulls.ts';
import { checkTokenIds } from './request-params.ts';
import { type DetokenizeRequest, detokenizeRequest, type TokenizeRequest, tokenizeRequest } from './schemas.ts';
import { checkMessagesFit } from './text-limit.ts';

/** Characters at most: while they become tokens, nobody else is served. */
const MAX_LENGTH = 65_536;

/** `POST /tokenize` and `POST /detokenize`, as vLLM has them: the token ids that a prompt or a chat becomes, and back. */
export const tokenize: FastifyPluginAsync<{ readonly source: EngineSource }> = async (app, { source }) => {
  app.post<{ Body: TokenizeRequest }>(
    '/tokenize',
    { schema: { body: tokenizeRequest }, preValidation: nullsAreAbsent },
    async ({ body }) => {
      const engine = readyEngine(source);
      checkModel(engine, body.model);
      const tokens = encode(body, engine);
      return { tokens, count: tokens.length, max_model_len: engine.options.maxModelLen };
    },
  );

  app.post<{ Body: DetokenizeRequest }>(
    '/detokenize',
    { schema: { body: detokenizeRequest }, preValidation: nullsAreAbsent },
    async ({ body }) => {
      const engine = readyEngine(source);
      checkModel(engine, body.model);
      checkTokenIds('tokens', body.tokens, engine.model.config.vocab);
      return { prompt: engine.model.tokenizer.decode(body.tokens) };
    },
  );
};

/** A template writes special tokens itself, so those of the tokenizer are added to a plain prompt only, unless asked for. */
function encode({ prompt, messages, add_special_tokens }: TokenizeRequest, engine: Engine): TokenId[] {
  const { tokenizer } = engine.model;
  if ((prompt === undefined) === (messages === undefined)) {
    throw new RxllmError('RXLLM_INVALID_REQUEST', 'prompt: give either "prompt" or "messages".', { param: 'prompt' });
  }
  if (prompt !== undefined) {
    checkLength('prompt', prompt);
    return tokenizer.encode(prompt, { addSpecialTokens: add_special_tokens ?? true });
  }
  const chat = toChatMessages(messages ?? []);
  checkMessagesFit(chat, engine);
  const text = tokenizer.applyChatTemplate(chat, { addGenerationPrompt: true });
  checkLength('messages', text);
  return tokenizer.encode(text, { addSpecialTokens: add_special_tokens ?? false });
}

function checkLength(param: string, { length }: string): void {
  if (length <= MAX_LENGTH) return;
  const message = `${param}: it has ${length} characters; /tokenize takes at most ${MAX_LENGTH}. Send it in parts.`;
  throw new RxllmError('RXLLM_INVALID_REQUEST', message, { param });
}
