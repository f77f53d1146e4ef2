import { describe, expect, it } from 'vitest';
import { batchOf } from '../../../test/support/greedy.ts';
import type { KvPool, ModelConfig } from '../contracts/index.ts';
import { type ForwardInputs, forwardInputs, tableBlocks } from './forward-inputs.ts';

const config = { kvHeads: 2 } as ModelConfig;
const paged: KvPool = { layout: 'paged', blocks: 10, blockSize: 4 };

/** Input names and values, int64 ones put together from their words. */
const values = (inputs: ForwardInputs) =>
  Object.fromEntries(
    inputs.tensors.map(({ name, dtype, data }) => [
      name,
      dtype === 'int32' ? [...data] : [...new BigInt64Array(data.buffer)].map(Number),
    ]),
  );

describe('forwardInputs', () => {
  const batch = batchOf([
    { blocks: [3, 5], start: 5, ids: [11] },
    { blocks: [7], start: 0, ids: [21, 22] },
  ]);
  const shape = { rows: 2, width: 2, wanted: 2, blocks: 2 };

  it('paged, in place: slots are (block × kvHeads + head, offset), and padding goes to block 0', () => {
    const inputs = forwardInputs(shape, config, paged, 'in-place');
    inputs.fill(batch);
    expect(values(inputs)).toEqual({
      ids: [11, 0, 21, 22],
      positions: [5, 0, 0, 1],
      logits_at: [0, 3],
      block_table: [6, 10, 7, 11, 14, 0, 15, 1],
      slots: [10, 1, 11, 1, 0, 0, 1, 0, 14, 0, 15, 0, 14, 1, 15, 1],
    });
  });

  it('paged, returned: slots are (row × kvHeads + head, position), and padding goes to the last position', () => {
    const inputs = forwardInputs(shape, config, paged, 'returned');
    inputs.fill(batch);
    expect(values(inputs)).toMatchObject({ slots: [0, 5, 1, 5, 0, 7, 1, 7, 2, 0, 3, 0, 2, 1, 3, 1] });
  });

  it('leaves nothing of the batch before', () => {
    const inputs = forwardInputs(shape, config, paged, 'in-place');
    inputs.fill(batch);
    const first = values(inputs);
    const other = [
      { blocks: [9, 8], start: 3, ids: [31, 32] },
      { blocks: [6], start: 2, ids: [41] },
    ];
    inputs.fill(batchOf(other));
    expect(values(inputs)).not.toEqual(first);
    inputs.fill(batch);
    expect(values(inputs)).toEqual(first);
  });

  it('contiguous: the last position of each row, and the longest length', () => {
    const pool: KvPool = { layout: 'contiguous', blocks: 2, blockSize: 64 };
    const inputs = forwardInputs({ rows: 2, width: 1, wanted: 1, blocks: 0 }, config, pool, 'in-place');
    inputs.fill({ ids: [[1], [2]], positions: [6, 40], blockTables: [], logitsAt: [1] });
    expect(values(inputs)).toMatchObject({ last_positions: [6, 40], total_length: [41], logits_at: [1] });
  });
});

describe('tableBlocks', () => {
  const blocks = (tokens: number) => tableBlocks(batchOf([{ blocks: [], start: tokens - 1, ids: [0] }]), 16);

  it('has room for one more position', () => {
    expect([1, 15, 16, 31, 32].map(blocks)).toEqual([1, 1, 2, 2, 3]);
  });

  it('takes few values, at most a quarter too many', () => {
    const seen = new Set<number>();
    for (let tokens = 1; tokens <= 2048; tokens++) {
      const needed = Math.ceil((tokens + 1) / 16);
      seen.add(blocks(tokens));
      expect(blocks(tokens)).toBeGreaterThanOrEqual(needed);
      expect(blocks(tokens)).toBeLessThanOrEqual(Math.max(needed, needed * 1.25));
    }
    expect(seen.size).toBeLessThan(26);
  });
});
