import { describe, expect, it } from 'vitest';
import { batchOf, type Row } from '../../../test/support/greedy.ts';
import type { KvPool, ModelConfig } from '../contracts/index.ts';
import { checkBatch } from './check-batch.ts';

const config = { vocab: 100, maxPositions: 64 } as ModelConfig;
const POOLS = {
  none: { layout: 'none', blocks: 0, blockSize: 0 },
  contiguous: { layout: 'contiguous', blocks: 4, blockSize: 32 },
  paged: { layout: 'paged', blocks: 8, blockSize: 16 },
} as const satisfies Record<string, KvPool>;

const check = (layout: keyof typeof POOLS, ...rows: Row[]) => checkBatch(batchOf(rows), config, POOLS[layout]);

describe('checkBatch', () => {
  it('takes what fits to the last place', () => {
    const ids = Array(32).fill(99);
    check('none', { blocks: [], start: 0, ids: Array(64).fill(0) });
    check('contiguous', { blocks: [3], start: 0, ids }, { blocks: [0], start: 31, ids: [1] });
    check('paged', { blocks: [7, 1, 2, 3], start: 32, ids });
  });

  it.each<[keyof typeof POOLS, string, Row[]]>([
    ['none', 'row 0 starts at position 1', [{ blocks: [], start: 1, ids: [1] }]],
    ['none', 'token id 100', [{ blocks: [], start: 0, ids: [100] }]],
    ['none', 'token id 1.5', [{ blocks: [], start: 0, ids: [1.5] }]],
    ['none', 'positions 0 to 64', [{ blocks: [], start: 0, ids: Array(65).fill(0) }]],
    ['contiguous', 'slot 4', [{ blocks: [4], start: 0, ids: [1] }]],
    ['contiguous', 'slot undefined', [{ blocks: [], start: 0, ids: [1] }]],
    ['contiguous', 'ends at position 33', [{ blocks: [0], start: 32, ids: [1] }]],
    ['contiguous', 'two rows have the same slot', [2, 3, 2].map((slot) => ({ blocks: [slot], start: 0, ids: [1] }))],
    ['paged', 'block 8', [{ blocks: [8], start: 0, ids: [1] }]],
    ['paged', 'block 0', [{ blocks: [1, 0], start: 16, ids: [1] }]],
    ['paged', 'row 1 needs 2 blocks and has 1', [1, 16].map((start) => ({ blocks: [1], start, ids: [1] }))],
  ])('%s: refuses %s', (layout, what, rows) => {
    expect(() => check(layout, ...rows)).toThrow(
      expect.objectContaining({ code: 'RXLLM_RUNTIME_FAILED', message: expect.stringContaining(what) }),
    );
  });

  it.each([[[3]], [[4]], [[0, 0]], [[2, 1]], [[-1]]])('refuses logits at %j of rows of 2 and 1 tokens', (logitsAt) => {
    const rows = [
      { blocks: [], start: 0, ids: [1, 2] },
      { blocks: [], start: 0, ids: [3] },
    ];
    expect(() => checkBatch({ ...batchOf(rows), logitsAt }, config, POOLS.none)).toThrow('logitsAt');
    checkBatch({ ...batchOf(rows), logitsAt: [0, 1, 2] }, config, POOLS.none);
  });
});
