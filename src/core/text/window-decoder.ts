import type { IncrementalDecoder, TokenId } from '../contracts/index.ts';

const UNFINISHED = '\uFFFD';
/** Tokens after which a window that never ends in whole text (a run of invalid bytes) is cut. */
const MAX_WINDOW = 16;
/** A character has four bytes at most, so an unfinished one begins within the last three tokens. */
const MAX_UNFINISHED_TOKENS = 3;

/**
 * Streaming detokenization for any tokenizer: a short window of tokens is decoded with and without the newest, and the
 * difference is new text. A U+FFFD at the end is held back until a later token shows whether the character becomes
 * whole. The tokens of the last piece stay in the window, for decoders that treat the first token differently.
 * After the incremental detokenizers of TGI and vLLM, which hold the whole piece back, not only its end.
 */
export function windowDecoder(
  decode: (ids: readonly TokenId[]) => string,
  isSilent: (id: TokenId) => boolean,
): IncrementalDecoder {
  let window: TokenId[] = [];
  /** Tokens at the start of the window that are there only as context. */
  let context = 0;
  /** Characters of the window's text that are already out. */
  let emitted = 0;

  const dropFirst = (count: number) => {
    window = window.slice(count);
    emitted = shown(decode(window)).length;
  };
  return {
    push(id) {
      if (isSilent(id)) return '';
      window.push(id);
      const text = decode(window);
      const safe = shown(text);
      const piece = safe.slice(emitted);
      emitted += piece.length;
      if (safe.length === text.length) {
        dropFirst(context);
        context = window.length;
      } else if (window.length > MAX_WINDOW) {
        dropFirst(cleanCut(window, text, decode));
        context = 0;
      }
      return piece;
    },
    flush() {
      const rest = window.length === 0 ? '' : decode(window).slice(emitted);
      emitted += rest.length;
      return rest;
    },
  };
}

function shown(text: string): string {
  return text.endsWith(UNFINISHED) ? text.slice(0, -1) : text;
}

/** The last place between two tokens that is not inside a character: there, and only there, decoding can be split. */
function cleanCut(window: readonly TokenId[], text: string, decode: (ids: readonly TokenId[]) => string): number {
  for (let cut = window.length - 1; cut >= window.length - MAX_UNFINISHED_TOKENS; cut--) {
    if (decode(window.slice(0, cut)) + decode(window.slice(cut)) === text) return cut;
  }
  return 0;
}
