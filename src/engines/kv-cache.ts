import { llama } from '../core/graph/llama-graph.ts';
import { contiguousSlots } from '../core/memory/contiguous-slots.ts';
import { autoRuntime } from '../core/runtime/auto-runtime.ts';
import { swap } from './swap.ts';
import { transformer } from './transformer.ts';

/** Chapter 4: keys and values stay in a cache that each step writes in place, and a step computes only what is new. */
export const kvCache = swap(transformer, {
  name: 'kv-cache',
  model: llama(),
  runtime: autoRuntime(),
  kv: contiguousSlots({ slots: 1 }),
});
