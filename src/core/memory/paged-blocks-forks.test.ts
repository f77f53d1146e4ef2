import { describe, expect, test } from 'vitest';
import { fakeSequence } from '../../../test/support/fakes.ts';
import { createPaged } from '../../../test/support/kv-caches.ts';
import type { Sequence } from '../contracts/index.ts';

describe('a fork', () => {
  const parentOf = (promptLength: number, computed: number) => {
    const parent = fakeSequence('parent', { tokens: Array<number>(promptLength).fill(1) });
    parent.computed = computed;
    return parent;
  };
  const childOf = (parent: Sequence, id = 'child') => fakeSequence(id, { tokens: [...parent.tokens], parent });

  test('shares the blocks of the prompt, and gets a copy of the one that it writes to', () => {
    const kv = createPaged(8);
    const parent = parentOf(6, 0);
    kv.reserve(parent, 6);
    parent.computed = 6;
    const child = childOf(parent);
    expect(kv.cachedTokens(child)).toBe(5);
    expect(kv.reserve(child, 1)).toEqual({ blocks: [1, 3], copies: [{ from: 2, to: 3 }] });
    expect({ computed: child.computed, cached: child.cached, used: kv.used }).toEqual({
      computed: 5,
      cached: 5,
      used: 3,
    });
    kv.checkInvariants();
    // Nobody else holds block 2 any more: the parent writes on in place.
    expect(kv.reserve(parent, 1)).toEqual({ blocks: [1, 2] });
    kv.free(parent);
    expect(kv.reserve(child, 3)).toEqual({ blocks: [1, 3] });
    kv.free(child);
    expect(kv.used).toBe(0);
  });

  test('copies nothing where its last token begins a block', () => {
    const kv = createPaged(8);
    const parent = parentOf(5, 0);
    kv.reserve(parent, 5);
    parent.computed = 5;
    expect(kv.reserve(childOf(parent), 1)).toEqual({ blocks: [1, 3] });
  });

  test('a block shared and then written to is copied, whoever writes', () => {
    const kv = createPaged(8);
    const parent = parentOf(7, 0);
    kv.reserve(parent, 7);
    parent.computed = 7;
    const child = childOf(parent);
    kv.reserve(child, 1);
    child.computed = 7;
    // Both full and partial blocks are given up by truncation, and shared again.
    kv.truncate(child, 2);
    child.computed = 2;
    expect(child.blocks).toEqual([1]);
    expect(kv.reserve(parent, 1)).toEqual({ blocks: [1, 2] });
    expect(kv.reserve(child, 1)).toEqual({ blocks: [4], copies: [{ from: 1, to: 4 }] });
    kv.checkInvariants();
  });

  test('has to find room for the copy, too; else takes nothing', () => {
    const kv = createPaged(3);
    const parent = parentOf(6, 0);
    kv.reserve(parent, 6);
    parent.computed = 6;
    const child = childOf(parent);
    expect(kv.reserve(child, 1)).toBeUndefined();
    expect({ used: kv.used, computed: child.computed, blocks: child.blocks }).toEqual({
      used: 2,
      computed: 0,
      blocks: [],
    });
    kv.checkInvariants();
  });

  test('of a parent that holds nothing begins from nothing', () => {
    const kv = createPaged(8);
    const child = childOf(parentOf(6, 0));
    expect(kv.cachedTokens(child)).toBe(0);
    expect(kv.reserve(child, 6)).toEqual({ blocks: [1, 2] });
  });

  test('that was preempted finds the whole prompt', () => {
    const kv = createPaged(8);
    const parent = parentOf(6, 0);
    kv.reserve(parent, 6);
    parent.computed = 6;
    const child = childOf(parent);
    child.tokens.push(9, 9);
    expect(kv.cachedTokens(child)).toBe(6);
    expect(kv.reserve(child, 2)).toEqual({ blocks: [1, 3], copies: [{ from: 2, to: 3 }] });
  });
});
