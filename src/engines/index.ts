export { createEngine } from './create-engine.ts';
export { kvCache } from './kv-cache.ts';
export { type EngineEntry, engines, findEngine } from './registry.ts';
export { observe, pipeSlots, swap } from './swap.ts';
