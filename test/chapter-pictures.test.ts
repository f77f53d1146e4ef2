import { expect, it } from 'vitest';
import { barChart } from '../chapters/support/bar-chart.ts';
import { lineChart } from '../chapters/support/line-chart.ts';
import { ticks } from '../chapters/support/svg.ts';
import { markdownTable, textTable } from '../chapters/support/table.ts';
import { byLength } from '../chapters/support/tpot-by-length.ts';

it('takes round steps for an axis', () => {
  expect(ticks(9.3)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticks(512)).toEqual([0, 200, 400, 600]);
  expect(ticks(0.3)).toEqual([0, 0.1, 0.2, 0.3]);
});

it('draws lines from the origin of the axes, for light and dark pages', () => {
  const series = [
    {
      name: 'a < b',
      points: [
        [0, 0],
        [10, 5],
        [20, 10],
      ] as const,
    },
    {
      name: 'flat',
      points: [
        [0, 10],
        [20, 10],
      ] as const,
    },
  ];
  const svg = lineChart({ title: 'T', x: 'tokens', y: 'ms', series });
  expect(svg).toContain('d="M62 312L343 178L624 44"');
  expect(svg).toContain('d="M62 44L624 44"');
  expect(svg).toContain('a &#60; b');
  expect(svg).toContain('prefers-color-scheme: dark');
});

it('draws a bar for each label in each panel', () => {
  const svg = barChart('T', ['x', 'y'], [{ name: 'p', values: [1, 0.5] }]);
  expect(svg.match(/<rect /g)).toHaveLength(2);
  expect(svg).toContain('height="24"');
});

it('sets numbers to the right', () => {
  expect(
    textTable(
      ['n', 'what'],
      [
        [1, 'a'],
        [10, 'b'],
      ],
    ),
  ).toBe(' n  what\n 1  a\n10  b');
  expect(markdownTable(['n', 'what'], [[1, 'a']])).toBe('| n | what |\n| --: | --- |\n| 1 | a |');
});

it('takes the median of a window around each length', () => {
  const times = [1, 2, 3, 4, 5, 6, 7, 8];
  expect(byLength(times, 4)).toEqual([
    [4, 3.5],
    [8, 7],
  ]);
});
