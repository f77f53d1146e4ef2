import fc from 'fast-check';
import { expect, it } from 'vitest';
import { complement, difference, intersection, SURROGATES, size, union } from './code-points.ts';
import { utf8Ranges } from './utf8-ranges.ts';

it.each([
  [[[0xe9, 0xe9]], ['c3 a9']],
  [[[0x80, 0xfff]], ['c2-df 80-bf', 'e0 a0-bf 80-bf']],
  [[[0x430, 0x44f]], ['d0 b0-bf', 'd1 80-8f']],
  [[[0x1f600, 0x1f60e]], ['f0 9f 98 80-8e']],
] as const)('%j', (set, sequences) => {
  const hex = ([from, to]: readonly [number, number]) =>
    from === to ? from.toString(16) : `${from.toString(16)}-${to.toString(16)}`;
  expect(utf8Ranges(set).map((sequence) => sequence.map(hex).join(' '))).toEqual(sequences);
});

it('the sequences of a range are its characters, each once', () => {
  const point = fc.integer({ min: 0, max: 0x10ffff });
  fc.assert(
    fc.property(point, point, point, (a, b, other) => {
      const set = difference([[Math.min(a, b), Math.max(a, b)]], SURROGATES);
      const sequences = utf8Ranges(set);
      const count = sequences.map((one) => one.reduce((product, [from, to]) => product * (to - from + 1), 1));
      expect(count.reduce((sum, one) => sum + one, 0)).toBe(size(set));
      if (size(intersection([[other, other]], SURROGATES)) > 0) return;
      const bytes = [...new TextEncoder().encode(String.fromCodePoint(other))];
      const fits = sequences.filter(
        (one) => one.length === bytes.length && one.every(([from, to], at) => bytes[at]! >= from && bytes[at]! <= to),
      );
      expect(fits).toHaveLength(size(intersection(set, [[other, other]])));
    }),
  );
});

it('sets', () => {
  expect(union([[5, 7]], [[8, 9]], [[1, 2]])).toEqual([
    [1, 2],
    [5, 9],
  ]);
  expect(
    complement([
      [0, 4],
      [6, 0x10ffff],
    ]),
  ).toEqual([[5, 5]]);
  expect(complement([])).toEqual([[0, 0x10ffff]]);
  expect(intersection([[0, 10]], [[5, 20]])).toEqual([[5, 10]]);
});
