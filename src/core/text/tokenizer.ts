import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import type { IncrementalDecoder, TokenId, Tokenizer, ToolCallForm, Vocabulary } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { byteLevelBytes, byteLevelDecoder, type TokenOutput } from './byte-level-decoder.ts';
import type { ChatTemplate } from './chat-template.ts';
import { windowDecoder } from './window-decoder.ts';

/** `tokenizer.json`; only what is read here. */
export interface TokenizerJson {
  readonly added_tokens: readonly { readonly id: TokenId; readonly content: string; readonly special?: boolean }[];
  readonly decoder?: { readonly type: string; readonly decoders?: readonly { readonly type: string }[] } | null;
}

export interface TokenizerOptions {
  readonly json: TokenizerJson;
  /** `tokenizer_config.json`. */
  readonly config: object;
  readonly chatTemplate: ChatTemplate;
  readonly toolCallForm: ToolCallForm;
  /** Ids that end a reply. */
  readonly eosIds: readonly TokenId[];
}

/**
 * A tokenizer over Hugging Face's `tokenizer.json`. Text of special tokens in the input is read as those tokens.
 * Decoding never tidies up spaces (`clean_up_tokenization_spaces`): streamed and whole text must be the same.
 * @throws RxllmError `RXLLM_MODEL_FILE_INVALID`
 */
export function createTokenizer({ json, config, chatTemplate, toolCallForm, eosIds }: TokenizerOptions): Tokenizer {
  const inner = construct(json, config);
  const added = new Map(json.added_tokens.map((token) => [token.id, token]));
  const vocabSize = inner.model?.vocab.length ?? 0;
  const isSpecial = (id: TokenId) => added.get(id)?.special === true;
  const isKnown = (id: TokenId) => inner.id_to_token(id) !== undefined;
  // An id without a token (a padded vocabulary) gives no text.
  const decode = (ids: readonly TokenId[]) => {
    const known = ids.filter(isKnown);
    return known.length === 0 ? '' : inner.decode(known, { clean_up_tokenization_spaces: false });
  };
  const isByteLevel = json.decoder?.type === 'ByteLevel';
  const outputs = new Map<TokenId, TokenOutput>();
  const outputOf = (id: TokenId): TokenOutput => {
    if (isSpecial(id) || !isKnown(id)) return undefined;
    let output = outputs.get(id);
    if (output === undefined) {
      output = added.get(id)?.content ?? byteLevelBytes(inner.id_to_token(id)!);
      outputs.set(id, output);
    }
    return output;
  };
  return {
    encode(text, { addSpecialTokens = true } = {}) {
      const ids: (TokenId | undefined)[] = inner.encode(text, { add_special_tokens: addSpecialTokens }).ids;
      // A character that the vocabulary lacks, where there is no token for unknown ones.
      return ids.filter((id) => id !== undefined);
    },
    decode: (ids, { skipSpecialTokens = false } = {}) =>
      decode(skipSpecialTokens ? ids.filter((id) => !isSpecial(id)) : ids),
    tokenText(id) {
      const text = decode([id]);
      // Other decoders strip the space that the first token begins with; behind another token it stays.
      return isByteLevel ? text : decode([id, id]).slice(text.length);
    },
    applyChatTemplate: chatTemplate,
    toolCallForm,
    vocabulary: () => ({
      tokens: Array.from({ length: vocabSize }, (_, id) => (isSpecial(id) ? '' : (inner.id_to_token(id) ?? ''))),
      encoding: encodingOf(json.decoder),
    }),
    decoder: (): IncrementalDecoder =>
      isByteLevel ? byteLevelDecoder(outputOf) : windowDecoder(decode, (id) => isSpecial(id) || !isKnown(id)),
    vocabSize,
    eosIds: new Set(eosIds),
  };
}

/** Vocabularies made by SentencePiece write spaces as `▁`, and bytes as `<0x0A>`. */
function encodingOf(decoder: TokenizerJson['decoder']): Vocabulary['encoding'] {
  const types = [decoder, ...(decoder?.decoders ?? [])].map((one) => one?.type);
  if (types.includes('ByteLevel')) return 'byte_level';
  return types.includes('ByteFallback') || types.includes('Metaspace') ? 'byte_fallback' : 'raw';
}

function construct(json: TokenizerJson, config: object): HuggingFaceTokenizer {
  try {
    return new HuggingFaceTokenizer(json, config);
  } catch (cause) {
    const problem = `tokenizer.json cannot be used: ${(cause as Error).message}.`;
    throw new RxllmError('RXLLM_MODEL_FILE_INVALID', `${problem} Copy it again from the model's source.`, { cause });
  }
}
