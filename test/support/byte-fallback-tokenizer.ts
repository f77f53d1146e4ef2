import type { Tokenizer } from '../../src/core/contracts/index.ts';
import { createChatTemplate } from '../../src/core/text/chat-template.ts';
import { createTokenizer } from '../../src/core/text/tokenizer.ts';
import { TAGGED_CALL } from '../../src/core/text/tool-call-form.ts';

const byteTokens = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
const pieces = ['▁', '▁a', 'a', 'b', '▁the', 'é', '▁▁', 'ש', '😀'];

/** `<s>` 0, `</s>` 1, then the 256 bytes, then the pieces, then an added token that is not special. */
export const FIRST_BYTE = 2;
export const FIRST_PIECE = FIRST_BYTE + 256;
export const VOCAB = FIRST_PIECE + pieces.length + 1;

const added = (id: number, content: string, special: boolean) => ({
  id,
  content,
  special,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
});

/** A tokenizer as Llama 2 has it: pieces with ▁ for space, bytes for all else, BOS added; without a chat template unless given. */
export function byteFallbackTokenizer(template?: string): Tokenizer {
  const vocab = ['<s>', '</s>', ...byteTokens, ...pieces];
  const json = {
    added_tokens: [added(0, '<s>', true), added(1, '</s>', true), added(VOCAB - 1, '<think>', false)],
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'Prepend', prepend: '▁' },
        { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
      ],
    },
    pre_tokenizer: null,
    post_processor: {
      type: 'TemplateProcessing',
      single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
      pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
      special_tokens: { '<s>': { id: '<s>', ids: [0], tokens: ['<s>'] } },
    },
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ', start: 1, stop: 0 },
      ],
    },
    model: {
      type: 'BPE',
      unk_token: null,
      byte_fallback: true,
      fuse_unk: true,
      vocab: Object.fromEntries(vocab.map((token, id) => [token, id])),
      merges: [['▁', 'a'] as const, ['▁', '▁'] as const],
    },
  };
  const chatTemplate = createChatTemplate({ source: template, bosToken: '<s>', eosToken: '</s>' });
  return createTokenizer({ toolCallForm: TAGGED_CALL, json, config: {}, chatTemplate, eosIds: [1] });
}
