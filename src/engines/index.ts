export { continuous } from './continuous-batching.ts';
export { createEngine } from './create-engine.ts';
export { kvCache } from './kv-cache.ts';
export { paged } from './paged-attention.ts';
export { prefixCaching } from './prefix-caching.ts';
export { type EngineEntry, engines, findEngine } from './registry.ts';
export { staticBatch } from './static-batching.ts';
export { observe, pipeSlots, swap } from './swap.ts';
