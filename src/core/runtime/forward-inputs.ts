import type { ForwardBatch, KvPool, ModelConfig } from '../contracts/index.ts';
import type { CacheWrites } from '../graph/attention.ts';
import { NAMES } from '../graph/graph-inputs.ts';

export interface InputTensor {
  readonly name: string;
  readonly dtype: 'int32' | 'int64';
  readonly shape: readonly number[];
  /**
   * int64 is written as pairs of 32-bit words, low word first, for BigInt would allocate; every value here is at least 0
   * and under 2³¹, so the high words stay 0.
   */
  readonly data: Int32Array;
}

/** The arrays behind a graph's inputs for batches of one shape, allocated once and filled again for each. */
export interface ForwardInputs {
  readonly tensors: readonly InputTensor[];
  fill(batch: Rectangle): void;
}

/** What is filled in: a forward batch, or a part of one. */
export type Rectangle = Pick<ForwardBatch, 'ids' | 'positions' | 'blockTables' | 'logitsAt'>;

export interface InputShape {
  readonly rows: number;
  readonly width: number;
  /** Rows of logits. */
  readonly wanted: number;
  /** Columns of the block table; under `paged` only. */
  readonly blocks: number;
}

export function forwardInputs(
  shape: InputShape,
  config: ModelConfig,
  pool: KvPool,
  cacheWrites: CacheWrites,
): ForwardInputs {
  const { rows, width, wanted } = shape;
  const ids = int64(NAMES.ids, [rows * width]);
  const positions = int64(NAMES.positions, [rows, width]);
  const logitsAt = int64(NAMES.logitsAt, [wanted]);
  const cache = cacheInputs(shape, config, pool, cacheWrites);
  return {
    tensors: [ids, positions, logitsAt, ...cache.tensors],
    fill(batch) {
      for (let row = 0; row < rows; row++) {
        const tokens = batch.ids[row]!;
        const start = batch.positions[row]!;
        for (let column = 0; column < width; column++) {
          const at = row * width + column;
          // Padding is token 0 at position 0: it sees one key at least, so softmax stays finite.
          const isToken = column < tokens.length;
          set(ids, at, isToken ? tokens[column]! : 0);
          set(positions, at, isToken ? start + column : 0);
        }
      }
      batch.logitsAt.forEach((index, i) => {
        set(logitsAt, i, index);
      });
      cache.fill(batch);
    },
  };
}

function cacheInputs(shape: InputShape, config: ModelConfig, pool: KvPool, cacheWrites: CacheWrites): ForwardInputs {
  switch (pool.layout) {
    case 'none':
      return { tensors: [], fill() {} };
    case 'contiguous':
      return contiguousInputs(shape);
    case 'paged':
      return pagedInputs(shape, config.kvHeads, pool.blockSize, cacheWrites);
  }
}

function contiguousInputs({ rows }: InputShape): ForwardInputs {
  const lastPositions: InputTensor = {
    name: NAMES.lastPositions,
    dtype: 'int32',
    shape: [rows],
    data: new Int32Array(rows),
  };
  const totalLength: InputTensor = { name: NAMES.totalLength, dtype: 'int32', shape: [1], data: new Int32Array(1) };
  return {
    tensors: [lastPositions, totalLength],
    fill({ ids, positions }) {
      for (let row = 0; row < rows; row++) lastPositions.data[row] = positions[row]! + ids[row]!.length - 1;
      totalLength.data[0] = Math.max(...lastPositions.data) + 1;
    },
  };
}

function pagedInputs(
  { rows, width, blocks }: InputShape,
  kvHeads: number,
  blockSize: number,
  cacheWrites: CacheWrites,
): ForwardInputs {
  const blockTable = int64(NAMES.blockTable, [rows, kvHeads, blocks]);
  const slots = int64(NAMES.slots, [rows * width, kvHeads, 1, 2]);
  /** `first`: the block or row, see `NAMES`. */
  const setSlots = (token: number, first: number, second: number) => {
    for (let head = 0; head < kvHeads; head++) {
      const at = (token * kvHeads + head) * 2;
      set(slots, at, first * kvHeads + head);
      set(slots, at + 1, second);
    }
  };
  const inPlace = cacheWrites === 'in-place';
  return {
    tensors: [blockTable, slots],
    fill({ ids, positions, blockTables }) {
      for (let row = 0; row < rows; row++) {
        const table = blockTables[row]!;
        for (let head = 0; head < kvHeads; head++) {
          const at = (row * kvHeads + head) * blocks;
          for (let i = 0; i < blocks; i++) set(blockTable, at + i, (table[i] ?? 0) * kvHeads + head);
        }
        const tokens = ids[row]!;
        for (let column = 0; column < width; column++) {
          const token = row * width + column;
          const position = positions[row]! + column;
          const isToken = column < tokens.length;
          // Padding goes where nothing real lies: to block 0, or to the last position gathered.
          if (!inPlace) setSlots(token, row, isToken ? position : blocks * blockSize - 1);
          else if (isToken) setSlots(token, table[Math.floor(position / blockSize)]!, position % blockSize);
          else setSlots(token, 0, 0);
        }
      }
    },
  };
}

/**
 * Columns that a batch's block table gets: enough for its longest row, rounded up so that few shapes occur (exact below
 * 8, then at most a quarter more). Room for one more position is kept: when keys and values are returned, padding is
 * scattered to the last position, which must not be a real token's.
 */
export function tableBlocks(batch: Rectangle, blockSize: number): number {
  let longest = 0;
  for (let row = 0; row < batch.ids.length; row++) {
    longest = Math.max(longest, batch.positions[row]! + batch.ids[row]!.length);
  }
  const needed = Math.ceil((longest + 1) / blockSize);
  const step = Math.max(1, 2 ** (Math.floor(Math.log2(needed)) - 2));
  return Math.ceil(needed / step) * step;
}

function int64(name: string, shape: readonly number[]): InputTensor {
  const size = shape.reduce((a, b) => a * b, 1);
  return { name, dtype: 'int64', shape, data: new Int32Array(2 * size) };
}

function set(tensor: InputTensor, index: number, value: number): void {
  tensor.data[2 * index] = value;
}
