import type { TokenId } from '../contracts/index.ts';

/**
 * Fills `heap[0 .. k)` with the ids of the `k` largest of `logits` `[vocab]`, lower ids first among equals. `heap[0]`
 * is the last of them; the others are in no order. A bounded heap: one comparison for nearly every logit, no sort.
 * Needs 1 <= k <= vocab.
 */
export function selectTop(logits: Float32Array, k: number, heap: Int32Array): void {
  for (let id = 0; id < k; id++) heap[id] = id;
  for (let at = (k >> 1) - 1; at >= 0; at--) siftDown(logits, heap, k, at);
  let least = logits[heap[0]!]!;
  for (let id = k; id < logits.length; id++) {
    // Ids ascend, so an equal logit comes after all that are in the heap.
    if (logits[id]! <= least) continue;
    heap[0] = id;
    siftDown(logits, heap, k, 0);
    least = logits[heap[0]!]!;
  }
}

/** a comes before b: it is larger, or equal with a lower id. */
export function precedes(logits: Float32Array, a: TokenId, b: TokenId): boolean {
  const x = logits[a]!;
  const y = logits[b]!;
  return x > y || (x === y && a < b);
}

function siftDown(logits: Float32Array, heap: Int32Array, k: number, from: number): void {
  const moving = heap[from]!;
  let at = from;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= k) break;
    if (child + 1 < k && precedes(logits, heap[child]!, heap[child + 1]!)) child++;
    if (!precedes(logits, moving, heap[child]!)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = moving;
}
