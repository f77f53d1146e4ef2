import { llama } from '../core/graph/llama-graph.ts';
import { staticBatch } from './static-batching.ts';
import { swap } from './swap.ts';

/** Chapter 8: queries walk over tiles of keys, and no matrix of scores is ever whole. */
export const flashAttention = swap(staticBatch, { name: 'flash-attention', model: llama({ attention: 'flash' }) });
