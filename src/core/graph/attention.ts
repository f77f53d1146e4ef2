import type { ModelConfig } from '../contracts/index.ts';
import type { Edge, OnnxBuilder } from './onnx-builder.ts';
import type { Rotary } from './rotary.ts';

/** How new keys and values reach the pool (see `GraphSource.author`). */
export type CacheWrites = 'in-place' | 'returned';

/** Attention in all layers of one graph. */
export interface Attention {
  /** q, k and v side by side, `[rows × width, (heads + 2 kvHeads) × headDim]` → `[rows × width, heads × headDim]`. */
  attend(layer: number, qkv: Edge): Edge;
  /** Called after the last layer, for what then leaves the graph. */
  finish(): void;
}

/** Adds to the graph what the layers share: inputs, tables, the mask. */
export type AttentionStrategy = (g: OnnxBuilder, config: ModelConfig, cacheWrites: CacheWrites) => Attention;

/** q `[rows × width, heads, 1, headDim]`, k and v `[rows, kvHeads, keys, headDim]` → `[rows × width, heads × headDim]`. */
export type Attend = (q: Edge, k: Edge, v: Edge) => Edge;

/**
 * The arithmetic of attention, wherever keys and values come from: key j of a row is visible to the tokens at position j
 * and after it. `keys` is their number, a scalar. Adds to the graph what the layers share.
 */
export type AttentionKernel = (g: OnnxBuilder, config: ModelConfig, rope: Rotary, keys: Edge) => Attend;
