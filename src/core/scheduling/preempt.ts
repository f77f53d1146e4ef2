import type { KvAllocator, Sequence } from '../contracts/index.ts';

/** Preemption by recompute (vLLM): its blocks go back, its tokens stay, and all of them are to be computed again. */
export function preempt(sequence: Sequence, kv: KvAllocator): void {
  kv.free(sequence);
  sequence.computed = 0;
  sequence.cached = 0;
}
