import { pagedBlocks } from '../core/memory/paged-blocks.ts';
import { continuous } from './continuous-batching.ts';
import { swap } from './swap.ts';

/** Chapter 10: a sequence takes memory block by block as it grows, not all that it might ever need. */
export const paged = swap(continuous, {
  name: 'paged-attention',
  kv: pagedBlocks(),
});
