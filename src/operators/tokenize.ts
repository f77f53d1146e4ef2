import type {
  ChatMessage,
  EngineContext,
  GenerateRequest,
  Prompt,
  Sequence,
  Slot,
  TokenId,
} from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { resolveParams } from '../core/sampling/params.ts';
import { inTurns } from './in-turns.ts';

/**
 * Turns a request into a waiting sequence: chat template where the prompt is messages, then token ids.
 * Many long texts at once are tokenized in several turns of the event loop, so that nothing else waits for all of them.
 * Errors with `RXLLM_INVALID_REQUEST` and `RXLLM_CONTEXT_LENGTH_EXCEEDED` before anything is taken.
 *
 *     requests:   --r------
 *     tokenize(): --s------
 */
export const tokenize = (): Slot<GenerateRequest, Sequence> => (context) =>
  inTurns((request) => createSequence(request, encode(request.prompt, context), context), context.options);

/** A sequence that waits, with nothing computed. Checks the token ids and that prompt and one token more fit. */
export function createSequence(request: GenerateRequest, tokens: TokenId[], context: EngineContext): Sequence {
  const { options, model } = context;
  const invalid = tokens.find((id) => !Number.isInteger(id) || id < 0 || id >= model.config.vocab);
  if (invalid !== undefined) {
    throw new RxllmError(
      'RXLLM_INVALID_REQUEST',
      `prompt: token id ${invalid} is not in the vocabulary; ids go from 0 to ${model.config.vocab - 1}.`,
      { param: 'prompt' },
    );
  }
  if (tokens.length === 0) {
    throw new RxllmError('RXLLM_INVALID_REQUEST', 'prompt: it has no tokens; give at least one.', { param: 'prompt' });
  }
  const limit = contextLimit(context);
  if (tokens.length + 1 > limit) {
    throw new RxllmError(
      'RXLLM_CONTEXT_LENGTH_EXCEEDED',
      `prompt: it has ${tokens.length} tokens, and with one more the limit of ${limit} is passed. ` +
        'Shorten it, or raise maxModelLen (--max-model-len) or the KV memory (--kv-cache-memory) if the model allows.',
      { param: 'prompt' },
    );
  }
  return {
    id: request.id ?? options.newId(),
    request,
    params: resolveParams(request.params, model.config.vocab),
    arrivedAt: options.clock.now(),
    tokens,
    promptLength: tokens.length,
    computed: 0,
    cached: 0,
    blocks: [],
    decoder: model.tokenizer.decoder(),
    text: '',
    phase: 'waiting',
  };
}

/** The longest sequence, prompt and output together, that this engine can hold. */
export function contextLimit({ options, kv }: EngineContext): number {
  return Math.min(options.maxModelLen, kv.maxSequenceTokens);
}

function encode(prompt: Prompt, { model: { tokenizer } }: EngineContext): TokenId[] {
  if (typeof prompt === 'string') return tokenizer.encode(prompt);
  if (!isMessages(prompt)) return [...prompt];
  // The template writes BOS itself where the model wants one.
  return tokenizer.encode(tokenizer.applyChatTemplate(prompt, { addGenerationPrompt: true }), {
    addSpecialTokens: false,
  });
}

function isMessages(prompt: readonly TokenId[] | readonly ChatMessage[]): prompt is readonly ChatMessage[] {
  return typeof prompt[0] === 'object';
}
