import type { BlockId } from '../contracts/index.ts';

/** Takes the writes of padding; never given out. */
const TRASH_BLOCK: BlockId = 0;

/**
 * Which blocks of a pool are free and how many hold on to each of the others (vLLM's `BlockPool`). The free list is in
 * least-recently-used order: the block given back longest ago is given out first, so what others may still find in a
 * free block lives as long as it can.
 */
export class BlockPool {
  /** Blocks that can be given out. */
  readonly total: number;
  readonly #references: Uint32Array;
  /** A Set keeps the order in which blocks came in, and takes one out of the middle in O(1). */
  readonly #free = new Set<BlockId>();
  readonly #onTaken: (block: BlockId) => void;

  /** `blocks` counts the trash block. `onTaken` hears of each block whose old content is about to be overwritten. */
  constructor(blocks: number, onTaken: (block: BlockId) => void = () => {}) {
    this.total = blocks - 1;
    this.#references = new Uint32Array(blocks);
    this.#onTaken = onTaken;
    for (let block = TRASH_BLOCK + 1; block < blocks; block++) this.#free.add(block);
  }

  get free(): number {
    return this.#free.size;
  }

  get used(): number {
    return this.total - this.#free.size;
  }

  /** Free blocks that are not among these. */
  freeWithout(blocks: readonly BlockId[]): number {
    return blocks.reduce((free, block) => free - (this.#free.has(block) ? 1 : 0), this.#free.size);
  }

  references(block: BlockId): number {
    return this.#references[block] ?? 0;
  }

  /** Free blocks, the next to be given out first. */
  freeOrder(): BlockId[] {
    return [...this.#free];
  }

  /** So many blocks with a reference each. There must be as many. */
  take(count: number): BlockId[] {
    if (count > this.#free.size) throw new Error(`${count} blocks are to be taken, and ${this.#free.size} are free.`);
    const taken: BlockId[] = [];
    for (const block of this.#free) {
      if (taken.length === count) break;
      taken.push(block);
    }
    for (const block of taken) {
      this.#free.delete(block);
      this.#references[block] = 1;
      this.#onTaken(block);
    }
    return taken;
  }

  /** One reference more to each; a free block is free no longer, and keeps its content. */
  share(blocks: readonly BlockId[]): void {
    for (const block of blocks) {
      this.#free.delete(block);
      this.#references[block]! += 1;
    }
  }

  /**
   * One reference less to each. The last block goes first, so of what becomes free a sequence's tail is reused before
   * its head, which more requests have in common.
   */
  release(blocks: readonly BlockId[]): void {
    for (let i = blocks.length - 1; i >= 0; i--) {
      const block = blocks[i]!;
      if (this.references(block) === 0) throw new Error(`Block ${block} is given back, but nobody holds it.`);
      this.#references[block]! -= 1;
      if (this.references(block) === 0) this.#free.add(block);
    }
  }

  /** @throws Error when the counts are not those of the block tables, or the free list is not what nobody holds. */
  checkInvariants(tables: Iterable<readonly BlockId[]>): void {
    const expected = new Uint32Array(this.#references.length);
    for (const table of tables) {
      for (const block of table) {
        if (block === TRASH_BLOCK || !(block in expected)) throw new Error(`A block table holds block ${block}.`);
        expected[block]! += 1;
      }
    }
    expected.forEach((count, block) => {
      const counted = this.references(block);
      if (counted !== count) throw new Error(`Block ${block} has ${counted} references, and ${count} tables hold it.`);
      const isFree = block !== TRASH_BLOCK && count === 0;
      if (isFree !== this.#free.has(block)) {
        throw new Error(`Block ${block} has ${count} references and is ${isFree ? 'not ' : ''}in the free list.`);
      }
    });
  }
}
