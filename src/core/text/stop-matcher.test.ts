import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createStopMatcher } from './stop-matcher.ts';

/** The definition, read off the whole text. */
function cut(text: string, stops: readonly string[]): { readonly text: string; readonly matched: boolean } {
  for (let end = 1; end <= text.length; end++) {
    const lengths = stops.filter((stop) => text.slice(0, end).endsWith(stop)).map((stop) => stop.length);
    if (lengths.length > 0) return { text: text.slice(0, end - Math.max(...lengths)), matched: true };
  }
  return { text, matched: false };
}

const word = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength });
const stopList = fc.array(word(5), { maxLength: 4 });
const chunkList = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 }), { maxLength: 12 });

describe('createStopMatcher', () => {
  it('never shows the start of a stop string that completes', () => {
    const matcher = createStopMatcher(['DEFGHIJ']);
    const pieces = [...'ABCDEFGHIJKL'].map((letter) => matcher.push(letter));
    expect(pieces.map(({ text }) => text)).toEqual(['A', 'B', 'C', '', '', '', '', '', '', '', '', '']);
    expect(pieces.map(({ matched }) => matched).indexOf(true)).toBe(9);
    expect(matcher.flush()).toBe('');
  });

  it('releases text as soon as it cannot become a stop string', () => {
    const matcher = createStopMatcher(['aab']);
    expect(matcher.push('xa')).toEqual({ text: 'x', matched: false });
    expect(matcher.push('a')).toEqual({ text: '', matched: false });
    expect(matcher.push('a')).toEqual({ text: 'a', matched: false });
    expect(matcher.push('')).toEqual({ text: '', matched: false });
    expect(matcher.push('c')).toEqual({ text: 'aac', matched: false });
    expect(matcher.push('a')).toEqual({ text: '', matched: false });
    expect(matcher.flush()).toBe('a');
    expect(matcher.flush()).toBe('');
  });

  it('of several stop strings the one complete first wins, then the longest', () => {
    expect(createStopMatcher(['abcde', 'bc']).push('xabcde')).toEqual({ text: 'xa', matched: true });
    expect(createStopMatcher(['c', 'abc', 'bc']).push('xabcd')).toEqual({ text: 'x', matched: true });
  });

  it('cuts as the whole text would be cut, whatever the chunks', () => {
    const property = fc.property(stopList, chunkList, (stops, chunks) => {
      const matcher = createStopMatcher(stops);
      const results = chunks.map((chunk) => matcher.push(chunk));
      const text = results.map((result) => result.text).join('') + matcher.flush();
      expect({ text, matched: results.at(-1)?.matched ?? false }).toEqual(cut(chunks.join(''), stops));
    });
    fc.assert(property, { numRuns: 2000 });
  });

  it('holds back exactly the longest end that begins a stop string', () => {
    const property = fc.property(stopList, chunkList, (stops, chunks) => {
      const matcher = createStopMatcher(stops);
      let seen = '';
      let shown = '';
      for (const chunk of chunks) {
        const result = matcher.push(chunk);
        if (result.matched) return;
        seen += chunk;
        shown += result.text;
        const ends = Array.from({ length: seen.length + 1 }, (_, start) => seen.slice(start));
        expect(seen.slice(shown.length)).toBe(ends.find((end) => stops.some((stop) => stop.startsWith(end))) ?? '');
      }
    });
    fc.assert(property, { numRuns: 2000 });
  });

  it('refuses an empty stop string', () => {
    expect(() => createStopMatcher(['a', ''])).toThrow(expect.objectContaining({ code: 'RXLLM_INVALID_REQUEST' }));
  });
});
