import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  byteFallbackTokenizer,
  FIRST_BYTE,
  FIRST_PIECE,
  VOCAB,
} from '../../../test/support/byte-fallback-tokenizer.ts';
import type { TokenId, Tokenizer } from '../contracts/index.ts';
import { loadTokenizer } from '../model/load-tokenizer.ts';

const byteLevel = await loadTokenizer('models/storyteller-draft', undefined);
const byteFallback = byteFallbackTokenizer();

function stream(tokenizer: Tokenizer, ids: readonly TokenId[]): string[] {
  const decoder = tokenizer.decoder();
  return [...ids.map((id) => decoder.push(id)), decoder.flush(), decoder.flush()];
}

/** Ids that make every kind of break likely: bytes of UTF-8 in and out of order, pieces, special tokens. */
const fallbackIds = fc.array(
  fc.oneof(
    { weight: 30, arbitrary: fc.integer({ min: FIRST_BYTE + 0x80, max: FIRST_PIECE - 1 }) },
    { weight: 10, arbitrary: fc.integer({ min: FIRST_BYTE + 0x80, max: FIRST_BYTE + 0xbf }) },
    { weight: 2, arbitrary: fc.integer({ min: FIRST_PIECE, max: VOCAB + 1 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: FIRST_PIECE }) },
  ),
  { maxLength: 80, size: 'max' },
);
const byteLevelIds = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 260 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 8200 }) },
  ),
  { maxLength: 80, size: 'max' },
);

const hard = ['😀', '👨‍👩‍👧‍👦', '한국어 글자', 'שלום עולם', 'a😀b é 漢字', '🏳️‍🌈'];

describe.each([
  { name: 'byte-level', tokenizer: byteLevel, anyIds: byteLevelIds },
  { name: 'byte fallback', tokenizer: byteFallback, anyIds: fallbackIds },
])('$name decoder', ({ tokenizer, anyIds }) => {
  it('joined pieces are the decoded whole, for any ids', () => {
    const same = (ids: number[]) => {
      expect(stream(tokenizer, ids).join('')).toBe(tokenizer.decode(ids, { skipSpecialTokens: true }));
    };
    fc.assert(fc.property(anyIds, same), { numRuns: 1000 });
  });

  it.each(hard)('%s comes out in whole characters', (text) => {
    const ids = tokenizer.encode(text, { addSpecialTokens: false });
    expect(ids.length).toBeGreaterThan(1);
    const pieces = stream(tokenizer, ids);
    expect(pieces.join('')).toBe(text);
    expect(pieces.at(-2)).toBe('');
    for (const piece of pieces) expect(piece).not.toMatch(/\uFFFD|\p{Surrogate}/u);
  });

  it('a character cut off by the end comes out once, on flush', () => {
    const ids = tokenizer.encode('b😃', { addSpecialTokens: false }).slice(0, -1);
    const decoder = tokenizer.decoder();
    expect(ids.map((id) => decoder.push(id)).join('')).toBe('b');
    expect(decoder.flush()).toBe('\uFFFD');
    expect(decoder.flush()).toBe('');
  });

  it('special tokens give no text and do not break a character', () => {
    const ids = tokenizer.encode('😃', { addSpecialTokens: false });
    const decoder = tokenizer.decoder();
    expect(
      ids
        .flatMap((id) => [id, 0])
        .map((id) => decoder.push(id))
        .join(''),
    ).toBe('😃');
  });

  it('invalid bytes come out within a few tokens', () => {
    const [first] = tokenizer.encode('😃', { addSpecialTokens: false }).slice(-4);
    const decoder = tokenizer.decoder();
    const pieces = Array.from({ length: 60 }, () => decoder.push(first!));
    for (let end = 4; end <= 60; end++) {
      expect(pieces.slice(end - 4, end).join('')).not.toBe('');
    }
  });
});

describe('byte fallback tokenizer', () => {
  it('adds BOS once, and only where it is asked to', () => {
    expect(byteFallback.encode('a')).toEqual([0, FIRST_PIECE + 1]);
    expect(byteFallback.encode('<s>a', { addSpecialTokens: false }).filter((id) => id === 0)).toHaveLength(1);
  });

  it('keeps the space of a token that is not the first', () => {
    expect(byteFallback.tokenText(FIRST_PIECE + 1)).toBe(' a');
    expect(byteFallback.tokenText(FIRST_BYTE + 0xe2)).toBe('\uFFFD');
  });
});
