import fc from 'fast-check';
import { expect, test } from 'vitest';
import { selectTop } from './select-top.ts';

test('the k largest, lower ids first among equals, the last of them at the root', () => {
  const logits = fc.array(fc.integer({ min: -4, max: 4 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(logits, fc.nat(), (values, n) => {
      const k = 1 + (n % values.length);
      const heap = new Int32Array(values.length);
      selectTop(Float32Array.from(values), k, heap);
      const sorted = [...values.keys()].sort((a, b) => values[b]! - values[a]! || a - b).slice(0, k);
      expect([...heap.subarray(0, k)].sort((a, b) => a - b)).toEqual([...sorted].sort((a, b) => a - b));
      expect(heap[0]).toBe(sorted[k - 1]);
    }),
  );
});
