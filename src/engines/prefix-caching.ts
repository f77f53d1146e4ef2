import { prefixCached } from '../core/memory/prefix-cached.ts';
import { paged } from './paged-attention.ts';
import { swap } from './swap.ts';

/** Chapter 11: blocks are known by what they hold, so that equal prefixes are computed once. */
export const prefixCaching = swap(paged, {
  name: 'prefix-caching',
  kv: prefixCached(),
});
