import type { ForwardBatch, KvPool, ModelConfig } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';

/**
 * Refuses a batch that would read or write outside the model's tables or the pool: the runtime itself does not check all
 * of that before it touches memory.
 * @throws RxllmError `RXLLM_RUNTIME_FAILED`
 */
export function checkBatch(batch: ForwardBatch, config: ModelConfig, pool: KvPool): void {
  const { rows, width, ids, positions, blockTables, logitsAt } = batch;
  if (!isCount(rows) || !isCount(width) || ids.length !== rows || positions.length !== rows) {
    refuse(`a batch of ${rows} × ${width} brings ids of ${ids.length} rows and ${positions.length} positions`);
  }
  for (let row = 0; row < rows; row++) {
    const tokens = ids[row]!;
    const start = positions[row]!;
    const end = start + tokens.length;
    if (tokens.length > width) refuse(`row ${row} has ${tokens.length} tokens in a batch ${width} wide`);
    for (const id of tokens) {
      if (!isIndex(id, config.vocab)) refuse(`row ${row} has token id ${id}; the model knows 0 to ${config.vocab - 1}`);
    }
    if (!isIndex(start, config.maxPositions) || end > config.maxPositions) {
      refuse(`row ${row} spans positions ${start} to ${end - 1}; the model has 0 to ${config.maxPositions - 1}`);
    }
    checkMemory(pool, row, start, end, blockTables[row] ?? []);
  }
  if (pool.layout === 'contiguous' && new Set(blockTables.map(([slot]) => slot)).size !== rows) {
    refuse('two rows have the same slot');
  }
  let previous = -1;
  for (const index of logitsAt) {
    const row = Math.floor(index / width);
    if (!isIndex(index, rows * width) || index <= previous || index % width >= ids[row]!.length) {
      refuse(`logitsAt ${index} is not a token of the batch, or stands out of order`);
    }
    previous = index;
  }
}

function checkMemory(pool: KvPool, row: number, start: number, end: number, table: readonly number[]): void {
  switch (pool.layout) {
    case 'none':
      if (start !== 0) refuse(`row ${row} starts at position ${start}, and without a cache each row must start at 0`);
      return;
    case 'contiguous':
      if (!isIndex(table[0]!, pool.blocks)) refuse(`row ${row} has slot ${table[0]}; there are ${pool.blocks}`);
      if (end > pool.blockSize) refuse(`row ${row} ends at position ${end}, past its slot's ${pool.blockSize} tokens`);
      return;
    case 'paged': {
      const needed = Math.ceil(end / pool.blockSize);
      if (table.length < needed) refuse(`row ${row} needs ${needed} blocks and has ${table.length}`);
      for (let i = 0; i < needed; i++) {
        const block = table[i]!;
        if (block === 0 || !isIndex(block, pool.blocks)) {
          refuse(`row ${row} has block ${block}; blocks 1 to ${pool.blocks - 1} may be used`);
        }
      }
    }
  }
}

const isCount = (value: number) => Number.isInteger(value) && value > 0;
const isIndex = (value: number, end: number) => Number.isInteger(value) && value >= 0 && value < end;

function refuse(what: string): never {
  throw new RxllmError('RXLLM_RUNTIME_FAILED', `forward pass refused: ${what}`);
}
