import { map, mergeMap } from 'rxjs';
import type {
  ChatMessage,
  EngineContext,
  GenerateRequest,
  GrammarMatcher,
  Prompt,
  Sequence,
  Slot,
  TokenId,
} from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { useGrammars } from '../core/grammar/use-grammars.ts';
import { resolveParams } from '../core/sampling/params.ts';
import { inTurns } from './in-turns.ts';

/**
 * Turns a request into a waiting sequence: chat template where the prompt is messages, then token ids. Many long texts
 * at once are tokenized in several turns of the event loop, so that nothing else waits for all of them. Where a text is
 * to follow a grammar, that is compiled first, elsewhere than on this thread.
 * Errors with `RXLLM_INVALID_REQUEST`, `RXLLM_CONTEXT_LENGTH_EXCEEDED`, `RXLLM_GRAMMAR_INVALID` and
 * `RXLLM_GRAMMAR_TOO_LARGE` before anything is taken.
 *
 *     requests:   --r--------r------
 *     tokenize(): --s------------s--   (the second waits for its grammar)
 */
export const tokenize = (): Slot<GenerateRequest, Sequence> => (context) => {
  const openGrammar = useGrammars(context);
  const toSequence = inTurns(
    (request: GenerateRequest) => createSequence(request, encode(request, context), context),
    context.options,
    ({ prompt }) => typeof prompt !== 'string' && typeof prompt[0] === 'number',
  );
  return (requests) =>
    requests.pipe(
      toSequence,
      mergeMap((sequence) =>
        openGrammar(sequence.params.responseFormat).pipe(map((grammar) => withGrammar(sequence, grammar))),
      ),
    );
};

/** The sequence, whose text will follow this grammar. */
export function withGrammar(sequence: Sequence, grammar: GrammarMatcher | undefined): Sequence {
  return grammar === undefined ? sequence : { ...sequence, grammar };
}

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

function encode({ prompt, tools }: GenerateRequest, { model: { tokenizer } }: EngineContext): TokenId[] {
  if (typeof prompt === 'string') return tokenizer.encode(prompt);
  if (!isMessages(prompt)) return [...prompt];
  // The template writes BOS itself where the model wants one.
  const text = tokenizer.applyChatTemplate(prompt, { addGenerationPrompt: true, ...(tools && { tools }) });
  return tokenizer.encode(text, { addSpecialTokens: false });
}

function isMessages(prompt: Exclude<Prompt, string>): prompt is readonly ChatMessage[] {
  return typeof prompt[0] === 'object';
}
