import { describe, expect, it } from 'vitest';
import { LruCache } from './lru-cache.ts';

describe('LruCache', () => {
  it('makes a value once and releases the one used longest ago', () => {
    const released: string[] = [];
    const cache = new LruCache<string>(2, (value) => released.push(value));
    let made = 0;
    const get = (key: string) => cache.get(key, () => `${key}${++made}`);
    expect([get('a'), get('b'), get('a'), get('c'), get('a'), get('b')]).toEqual(['a1', 'b2', 'a1', 'c3', 'a1', 'b4']);
    expect(released).toEqual(['b2', 'c3']);
    cache.clear();
    expect(released).toEqual(['b2', 'c3', 'a1', 'b4']);
    expect(cache.size).toBe(0);
  });
});
