import type { TokenId, TokenMask } from '../contracts/index.ts';
import { byteLevelBytes } from '../text/byte-level-decoder.ts';
import type { GrammarSource } from './grammar-source.ts';
import type { PackedVocabulary } from './thread-messages.ts';

/** Where in a character a text is: at its end, or by the bytes that may come next. */
const STATES = ['end', 'one', 'two', 'three', 'e0', 'ed', 'f0', 'f4', 'e2', 'e2 80'] as const;
export type CharacterState = (typeof STATES)[number];

const BYTE = /^<0x([\dA-F]{2})>$/;
/** As they are, or as an escape. */
const SEPARATORS = /[\u2028\u2029]|202[89]/;

/**
 * XGrammar takes for a character whatever begins like one: overlong forms, surrogates, what is beyond U+10FFFF. Here its
 * masks lose the tokens that would make such bytes, and the separators U+2028 and U+2029, which no `.` stands for, unless
 * the source names one.
 */
export class WholeCharacters {
  /** Of tokens that are not ASCII alone. */
  readonly #bytes = new Map<TokenId, Uint8Array>();
  readonly #allowed = new Map<CharacterState, Int32Array>();
  readonly #vocabulary: PackedVocabulary;
  #separators = true;

  constructor(vocabulary: PackedVocabulary) {
    this.#vocabulary = vocabulary;
    const utf8 = new TextEncoder();
    for (const [id, token] of vocabulary.tokens.split('\0').entries()) {
      const byte = vocabulary.encoding === 'byte_fallback' ? BYTE.exec(token)?.[1] : undefined;
      const bytes =
        byte !== undefined
          ? Uint8Array.of(Number.parseInt(byte, 16))
          : vocabulary.encoding === 'byte_level'
            ? byteLevelBytes(token)
            : utf8.encode(token);
      if (bytes.some((one) => one > 0x7f)) this.#bytes.set(id, bytes);
    }
  }

  follow(source: GrammarSource): void {
    this.#separators = SEPARATORS.test(JSON.stringify(source));
    this.#allowed.clear();
  }

  /** Takes out of a mask what cannot come in a state. */
  restrict(mask: TokenMask, state: CharacterState): void {
    let allowed = this.#allowed.get(state);
    if (allowed === undefined) {
      allowed = this.#tokensOf(state, mask.length);
      this.#allowed.set(state, allowed);
    }
    for (let word = 0; word < mask.length; word++) mask[word]! &= allowed[word]!;
  }

  next(state: CharacterState, id: TokenId): CharacterState {
    const bytes = this.#bytes.get(id);
    return (bytes === undefined ? state : this.#after(state, bytes)) ?? 'end';
  }

  /** What is ASCII is left to the grammar: where a character has begun, it allows none. */
  #tokensOf(state: CharacterState, words: number): Int32Array {
    const allowed = new Int32Array(words).fill(-1);
    for (const [id, bytes] of this.#bytes) {
      if (id < this.#vocabulary.size && this.#after(state, bytes) === undefined) allowed[id >> 5]! &= ~(1 << (id & 31));
    }
    return allowed;
  }

  #after(state: CharacterState, bytes: Uint8Array): CharacterState | undefined {
    let at: CharacterState | undefined = state;
    for (const byte of bytes) {
      at = step(at, byte, this.#separators);
      if (at === undefined) return undefined;
    }
    return at;
  }
}

/** The state behind a byte; undefined where it cannot come. */
function step(state: CharacterState, byte: number, separators: boolean): CharacterState | undefined {
  const within = (from: number, to: number, then: CharacterState) => (byte >= from && byte <= to ? then : undefined);
  switch (state) {
    case 'end':
      return begin(byte, separators);
    case 'one':
      return within(0x80, 0xbf, 'end');
    case 'two':
      return within(0x80, 0xbf, 'one');
    case 'three':
      return within(0x80, 0xbf, 'two');
    case 'e0':
      return within(0xa0, 0xbf, 'one');
    case 'ed':
      return within(0x80, 0x9f, 'one');
    case 'f0':
      return within(0x90, 0xbf, 'two');
    case 'f4':
      return within(0x80, 0x8f, 'two');
    case 'e2':
      return within(0x80, 0xbf, byte === 0x80 ? 'e2 80' : 'one');
    case 'e2 80':
      return byte === 0xa8 || byte === 0xa9 ? undefined : within(0x80, 0xbf, 'end');
  }
}

function begin(byte: number, separators: boolean): CharacterState | undefined {
  if (byte < 0x80) return 'end';
  if (byte < 0xc2 || byte > 0xf4) return undefined;
  if (byte < 0xe0) return 'one';
  if (byte === 0xe0) return 'e0';
  if (byte === 0xe2 && !separators) return 'e2';
  if (byte === 0xed) return 'ed';
  if (byte < 0xf0) return 'two';
  if (byte === 0xf0) return 'f0';
  return byte === 0xf4 ? 'f4' : 'three';
}
