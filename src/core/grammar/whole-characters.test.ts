import { expect, it } from 'vitest';
import type { GrammarSource } from './grammar-source.ts';
import { type CharacterState, WholeCharacters } from './whole-characters.ts';

const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
const opened = (text: string) => {
  const source: GrammarSource = { type: 'ebnf', text };
  const characters = new WholeCharacters({
    tokens: bytes.join('\0'),
    encoding: 'byte_fallback',
    size: 256,
    eosIds: [],
  });
  characters.follow(source);
  return characters;
};
const allowed = (characters: WholeCharacters, state: CharacterState) => {
  const mask = new Int32Array(8).fill(-1);
  characters.restrict(mask, state);
  return (id: number) => ((mask[id >> 5]! >>> (id & 31)) & 1) === 1;
};
/** Whether all bytes may come, and the character is then whole. */
const isWhole = (characters: WholeCharacters, text: readonly number[]) => {
  let state: CharacterState = 'end';
  for (const byte of text) {
    if (!allowed(characters, state)(byte)) return false;
    state = characters.next(state, byte);
  }
  return state === 'end';
};

it('every character may come', () => {
  const characters = opened('\u2028');
  for (let point = 0; point <= 0x10ffff; point += point < 0x3000 ? 7 : 1021) {
    if (point >= 0xd800 && point <= 0xdfff) continue;
    expect(isWhole(characters, [...new TextEncoder().encode(String.fromCodePoint(point))]), String(point)).toBe(true);
  }
});

it.each([
  [[0xc3]],
  [[0xc0, 0x80]],
  [[0xc1, 0x81]],
  [[0xe0, 0x80, 0x80]],
  [[0xed, 0xa0, 0x80]],
  [[0xf0, 0x80, 0x80, 0x80]],
  [[0xf4, 0x90, 0x80, 0x80]],
  [[0xf5, 0x80, 0x80, 0x80]],
  [[0x80]],
  [[0xe2, 0x82]],
  [[0xe2, 0x80, 0xa8]],
])('%j is no character, or a separator', (text) => {
  expect(isWhole(opened('a'), text)).toBe(false);
});

it('a separator that the source names may come', () => {
  for (const text of ['"\u2028"', '"\\u2028"']) expect(isWhole(opened(text), [0xe2, 0x80, 0xa8])).toBe(true);
});
