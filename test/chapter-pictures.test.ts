import { expect, it } from 'vitest';
import { sequenceOf } from '../chapters/support/allocator.ts';
import { barChart } from '../chapters/support/bar-chart.ts';
import { blockMap, blockMapPicture, blockMapText } from '../chapters/support/block-map.ts';
import { lineChart } from '../chapters/support/line-chart.ts';
import { loadMap, loadPicture, loadText } from '../chapters/support/load-map.ts';
import { prefixTree, treePicture, treeText } from '../chapters/support/prefix-tree.ts';
import { ticks } from '../chapters/support/svg.ts';
import { markdownTable, textTable } from '../chapters/support/table.ts';
import { loadsRow, tileLoads } from '../chapters/support/tile-loads.ts';
import { timelinePicture } from '../chapters/support/timeline-picture.ts';
import { byLength } from '../chapters/support/tpot-by-length.ts';
import type { KvAllocator } from '../src/core/contracts/index.ts';

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

it('draws a bar where a sequence does the same from step to step', () => {
  const cells = [
    ['prompt', 'decodes', 'decodes', 'padding'],
    [undefined, 'waits', 'waits', 'prompt'],
  ] as const;
  const svg = timelinePicture('T', { name: 'x', steps: 4, cells, used: 4, lost: 1 });
  // Three of the first sequence, two of the second, and the four of the key.
  expect(svg.match(/<rect /g)).toHaveLength(9);
  expect(svg).toContain('width="280.4" height="12"');
});

it('draws a block as far as it holds tokens, where it lies in the pool', () => {
  const kv = { pool: { layout: 'paged', blocks: 4, blockSize: 8 } } as KvAllocator;
  const sequence = { ...sequenceOf('a', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), blocks: [3, 1], computed: 10 };
  const map = blockMap('paged', kv, [sequence], 4);
  expect(map.cells.map(({ tokens }) => tokens)).toEqual([0, 0, 2, 0, 0, 0, 4, 4]);
  expect(blockMapText(map, 4)).toBe('  ..a-..AA');
  // The outline of every cell, four that are reserved, and three of them with tokens.
  expect(blockMapPicture('T', [map], 4).match(/<rect /g)).toHaveLength(8 + 4 + 3);
});

it('draws a block that several hold once', () => {
  const held = (id: string, tokens: readonly number[], blocks: number[]) => ({ ...sequenceOf(id, tokens), blocks });
  const tree = prefixTree([held('a', [1, 2, 3], [1, 2]), held('b', [1, 2, 4], [1, 3])], 2);
  expect(treeText(tree, (tokens) => tokens.join('+'))).toBe(
    '  1: "1+2"  held by a b\n     2: "3"  held by a\n     3: "4"  held by b',
  );
  const svg = treePicture('T', tree, (tokens) => tokens.join('+'));
  expect(svg.match(/<rect /g)).toHaveLength(3);
  expect(svg).toContain('block 1 · held by 2');
});

it('draws what a thread and its workgroup load, and counts it', () => {
  const tiles = { workgroup: { rows: 2, columns: 2, depth: 1 }, thread: { rows: 1, columns: 1 } };
  const map = loadMap('tiled', tiles, 4, 3, 3);
  expect(loadText(map).split('\n')).toEqual([
    '        B ··░░',
    '          ··▒█',
    '          ··░░',
    '',
    '    ···   ····',
    '    ···   ····',
    '    ░▒░   ··▒▒',
    '    ░█░   ··▒█',
    '    A     C',
  ]);
  expect(loadPicture('T', [map]).match(/opacity/g)).toHaveLength(6 + 4 + 3);
  expect(tileLoads(tiles)).toEqual({ fromMemory: 0.5, fromWorkgroup: 1 });
  expect(loadsRow('naive', 8, { thread: { rows: 1, columns: 1 } })).toEqual(['naive', 16, '1 / 1', '–']);
});
