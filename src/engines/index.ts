export { continuous } from './continuous-batching.ts';
export { createEngine } from './create-engine.ts';
export { createEngineHost, type EngineHost } from './engine-host.ts';
export { int4, QUANTIZATIONS, type Quantization, quantize } from './int4.ts';
export { kvCache } from './kv-cache.ts';
export { type EngineEntry, engines, findEngine } from './registry.ts';
export { type Parting, type Replayed, replay } from './replay.ts';
export { staticBatch } from './static-batching.ts';
export { observe, pipeSlots, swap } from './swap.ts';
