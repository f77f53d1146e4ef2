import type { BlockCopy, ForwardBatch, KvPool, TokenId } from '../contracts/index.ts';

const NEVER_WRITTEN = -1;

/**
 * A KV pool that holds token ids `[blocks, blockSize]` where a real one holds keys and values, written and read
 * through block tables in the same way: what a wrong table makes a model attend to comes back as wrong tokens.
 */
export class ScriptedPool {
  readonly #pool: KvPool;
  readonly #ids: Int32Array;

  constructor(pool: KvPool) {
    this.#pool = pool;
    this.#ids = new Int32Array(pool.blocks * pool.blockSize).fill(NEVER_WRITTEN);
  }

  /** Writes the new tokens of every row. @throws Error where a table has no place for them. */
  write(batch: ForwardBatch): void {
    if (this.#pool.layout === 'none') return;
    batch.ids.forEach((ids, row) => {
      if (ids.length > batch.width) throw new Error(`row ${row} has ${ids.length} tokens, more than ${batch.width}`);
      ids.forEach((id, column) => {
        this.#ids[this.#slot(batch, row, batch.positions[row]! + column)] = id;
      });
    });
  }

  copy(copies: readonly BlockCopy[]): void {
    const { blockSize } = this.#pool;
    for (const { from, to } of copies) this.#ids.copyWithin(to * blockSize, from * blockSize, (from + 1) * blockSize);
  }

  /** The tokens that `column` of `row` attends to, itself the last. @throws Error where one was never written. */
  history(batch: ForwardBatch, row: number, column: number): TokenId[] {
    const position = batch.positions[row]!;
    const ids = batch.ids[row]!;
    if (column >= ids.length) throw new Error(`row ${row} has ${ids.length} tokens: column ${column} is padding`);
    if (this.#pool.layout === 'none') {
      if (position === 0) return ids.slice(0, column + 1);
      throw new Error(`row ${row} starts at position ${position}, but without a cache it must bring all its tokens`);
    }
    return Array.from({ length: position + column + 1 }, (_, at) => {
      const id = this.#ids[this.#slot(batch, row, at)]!;
      if (id === NEVER_WRITTEN) throw new Error(`row ${row} reads position ${at}, which was never written`);
      return id;
    });
  }

  #slot({ blockTables }: ForwardBatch, row: number, position: number): number {
    const { layout, blocks, blockSize } = this.#pool;
    const block = blockTables[row]![Math.floor(position / blockSize)];
    if (block === undefined) {
      throw new Error(`row ${row} has position ${position}, past its block table [${blockTables[row]}]`);
    }
    if (block >= blocks || block < (layout === 'paged' ? 1 : 0)) {
      throw new Error(`row ${row} names block ${block}, which cannot be given out in a ${layout} pool of ${blocks}`);
    }
    return block * blockSize + (position % blockSize);
  }
}
