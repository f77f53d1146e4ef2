import type { IncrementalDecoder, TokenId } from '../contracts/index.ts';

/** What a token adds to the output: bytes of UTF-8 text, whole text of its own (an added token), or nothing. */
export type TokenOutput = Uint8Array | string | undefined;

/**
 * Streaming detokenization for byte-level BPE (GPT-2): a token is bytes, and a character may be split over several. At
 * most three bytes are held back, those of an unfinished character; bytes that can never become one come out as U+FFFD.
 */
export function byteLevelDecoder(outputOf: (id: TokenId) => TokenOutput): IncrementalDecoder {
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    push(id) {
      const output = outputOf(id);
      if (output === undefined) return '';
      return typeof output === 'string' ? utf8.decode() + output : utf8.decode(output, { stream: true });
    },
    flush: () => utf8.decode(),
  };
}

const BYTE_OF = new Map<string, number>();
for (let byte = 0, unprintable = 0; byte < 256; byte++) {
  const printable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  BYTE_OF.set(String.fromCharCode(printable ? byte : 256 + unprintable++), byte);
}

/** The bytes of a token of a byte-level vocabulary, which writes each byte as one printable character (GPT-2's table). */
export function byteLevelBytes(token: string): Uint8Array {
  const bytes = Array.from(token, (character) => BYTE_OF.get(character));
  return bytes.includes(undefined) ? new TextEncoder().encode(token) : Uint8Array.from(bytes as number[]);
}
