import type { TokenId, TokenMask } from '../contracts/index.ts';
import { byteLevelBytes } from '../text/byte-level-decoder.ts';
import type { GrammarSource } from './grammar-source.ts';
import type { PackedVocabulary } from './thread-messages.ts';

/** Where in a character a text is: at its end, or by the bytes that may come next. */
export type CharacterState = 'end' | 'one' | 'two' | 'three' | 'e0' | 'ed' | 'f0' | 'f4' | 'e2' | 'e2 80';

/** Tokens that are ASCII alone: most are. */
const PLAIN: Readonly<Record<PackedVocabulary['encoding'], RegExp>> = {
  byte_level: /^[!-~\u0100-\u0121]*$/,
  byte_fallback: /^(?!<0x[89A-F])[\0-\x7f]*$/,
  raw: /^[\0-\x7f]*$/,
};
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
      if (PLAIN[vocabulary.encoding].test(token)) continue;
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
    const steps = this.#separators ? WITH_SEPARATORS : WITHOUT_SEPARATORS;
    let at: CharacterState | undefined = state;
    for (const byte of bytes) {
      if (at === undefined) return undefined;
      at = steps[at][byte];
    }
    return at;
  }
}

type Steps = Readonly<Record<CharacterState, readonly (CharacterState | undefined)[]>>;

/** By the byte: the state behind it, and nothing where it cannot come. */
function stepsOf(separators: boolean): Steps {
  const steps = (...ranges: readonly [from: number, to: number, then: CharacterState][]) =>
    Array.from({ length: 256 }, (_, byte) => ranges.find(([from, to]) => byte >= from && byte <= to)?.[2]);
  return {
    end: steps(
      [0, 0x7f, 'end'],
      [0xc2, 0xdf, 'one'],
      [0xe0, 0xe0, 'e0'],
      [0xe2, 0xe2, separators ? 'two' : 'e2'],
      [0xed, 0xed, 'ed'],
      [0xe1, 0xef, 'two'],
      [0xf0, 0xf0, 'f0'],
      [0xf1, 0xf3, 'three'],
      [0xf4, 0xf4, 'f4'],
    ),
    one: steps([0x80, 0xbf, 'end']),
    two: steps([0x80, 0xbf, 'one']),
    three: steps([0x80, 0xbf, 'two']),
    e0: steps([0xa0, 0xbf, 'one']),
    ed: steps([0x80, 0x9f, 'one']),
    f0: steps([0x90, 0xbf, 'two']),
    f4: steps([0x80, 0x8f, 'two']),
    e2: steps([0x80, 0x80, 'e2 80'], [0x81, 0xbf, 'one']),
    'e2 80': steps([0x80, 0xa7, 'end'], [0xaa, 0xbf, 'end']),
  };
}

const WITH_SEPARATORS = stepsOf(true);
const WITHOUT_SEPARATORS = stepsOf(false);
