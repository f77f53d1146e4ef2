export { baseline } from './baseline.ts';
export { createEngine } from './create-engine.ts';
export { generateLoop } from './generate-loop.ts';
export { kvCache } from './kv-cache.ts';
export { type EngineEntry, engines, findEngine } from './registry.ts';
export { observe, pipeSlots, swap } from './swap.ts';
export { transformer } from './transformer.ts';
