import { describe, expect, test } from 'vitest';
import { BlockPool } from './block-pool.ts';

describe('block pool', () => {
  test('block 0 is never given out', () => {
    const pool = new BlockPool(4);
    expect({ total: pool.total, free: pool.free, used: pool.used }).toEqual({ total: 3, free: 3, used: 0 });
    expect(pool.take(3)).toEqual([1, 2, 3]);
    expect([0, 1, 2, 3].map((block) => pool.references(block))).toEqual([0, 1, 1, 1]);
  });

  test('more than there is takes nothing', () => {
    const pool = new BlockPool(4);
    expect(() => pool.take(4)).toThrow('4 blocks are to be taken, and 3 are free.');
    expect(pool.freeOrder()).toEqual([1, 2, 3]);
    expect(pool.take(0)).toEqual([]);
  });

  test('what is given back comes last, its tail before its head', () => {
    const pool = new BlockPool(6);
    const first = pool.take(3);
    pool.release(first);
    expect(pool.freeOrder()).toEqual([4, 5, 3, 2, 1]);
    expect(pool.take(3)).toEqual([4, 5, 3]);
    expect(pool.freeOrder()).toEqual([2, 1]);
  });

  test('a shared block is free only when its last holder gives it back', () => {
    const pool = new BlockPool(4);
    const [block] = pool.take(1);
    pool.share([block!]);
    expect(pool.references(block!)).toBe(2);
    pool.release([block!]);
    expect({ references: pool.references(block!), order: pool.freeOrder() }).toEqual({ references: 1, order: [2, 3] });
    pool.release([block!]);
    expect({ references: pool.references(block!), order: pool.freeOrder() }).toEqual({
      references: 0,
      order: [2, 3, 1],
    });
  });

  test('sharing a free block takes it out of the middle of the free list', () => {
    const pool = new BlockPool(5);
    pool.share([2, 3]);
    expect(pool.freeOrder()).toEqual([1, 4]);
    expect(pool.used).toBe(2);
    expect(pool.freeWithout([2, 4])).toBe(1);
    pool.checkInvariants([[2], [3]]);
  });

  test('a block is announced when its content is about to go, not when it is shared', () => {
    const taken: number[] = [];
    const pool = new BlockPool(4, (block) => taken.push(block));
    pool.share([2]);
    pool.take(2);
    expect(taken).toEqual([1, 3]);
  });

  test('giving back what nobody holds is an error', () => {
    const pool = new BlockPool(4);
    expect(() => pool.release([2])).toThrow('Block 2 is given back, but nobody holds it.');
  });

  test('the books are checked', () => {
    const pool = new BlockPool(4);
    pool.take(2);
    expect(() => pool.checkInvariants([[1]])).toThrow('Block 2 has 1 references, and 0 tables hold it.');
    expect(() => pool.checkInvariants([[1, 0]])).toThrow('A block table holds block 0.');
    expect(() => pool.checkInvariants([[1, 9]])).toThrow('A block table holds block 9.');
    pool.checkInvariants([[1], [2]]);
  });
});
