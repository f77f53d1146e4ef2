import { expect, test } from 'vitest';
import { fakeConfig } from '../../../test/support/fakes.ts';
import { allocatePool, copyBlocks } from './kv-memory.ts';

test('whole blocks are copied in every layer, keys and values, one copy after the other', () => {
  const config = fakeConfig({ layers: 2, kvHeads: 2, headDim: 2 });
  const pool = { layout: 'paged', blocks: 4, blockSize: 2 } as const;
  const parts = allocatePool(pool, config);
  const length = 2 * 2 * 2;
  parts.forEach(({ data }, part) => {
    data.forEach((_, i) => {
      data[i] = 1000 * part + i;
    });
  });
  copyBlocks(
    parts,
    [
      { from: 1, to: 3 },
      { from: 2, to: 1 },
    ],
    pool,
    config,
  );
  const block = (part: number, from: number) => Array.from({ length }, (_, i) => 1000 * part + from * length + i);
  expect(parts.map(({ data }) => [...data])).toEqual(
    [0, 1, 2, 3].map((part) => [0, 2, 2, 1].flatMap((from) => block(part, from))),
  );
});
