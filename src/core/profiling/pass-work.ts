import type { ForwardBatch, KvLayout, ModelConfig } from '../contracts/index.ts';
import { kvBytesPerToken } from '../memory/kv-bytes.ts';
import type { WeightTraffic } from './weight-traffic.ts';

/** The part of a forward batch that says how much there is to do. */
export type PassShape = Pick<ForwardBatch, 'ids' | 'positions' | 'logitsAt'>;

/** What a forward pass cannot do with less of. */
export interface PassWork {
  /** New tokens; padding is none. */
  readonly tokens: number;
  readonly flops: number;
  readonly bytes: { readonly weights: number; readonly kv: number; readonly logits: number };
}

const FLOAT_BYTES = 4;
/** A product and its addition. */
const FLOPS_PER_WEIGHT = 2;

/**
 * Counts a pass from its shapes. FLOPs are those of the matrix products, two a weight and token; norms, rotations and softmax
 * are left out, a thousandth of them. Bytes are what has to come from memory or go there: each weight once, the keys and
 * values of all tokens before, the new ones, the logits. Activations are taken to stay in the caches.
 */
export function passWork(
  config: ModelConfig,
  { layers: layerBytes, head, embeddingRow }: WeightTraffic,
  layout: KvLayout,
  { ids, positions, logitsAt }: PassShape,
): PassWork {
  const { layers, hidden, intermediate, heads, kvHeads, headDim, vocab } = config;
  const wanted = logitsAt.length;
  let [tokens, past, pairs] = [0, 0, 0];
  ids.forEach(({ length }, row) => {
    const start = positions[row]!;
    tokens += length;
    past += start;
    // The token at position p looks at p + 1 keys.
    pairs += length * start + (length * (length + 1)) / 2;
  });
  const attentionMatrices = hidden * (heads + 2 * kvHeads) * headDim + heads * headDim * hidden;
  const weights = layers * (attentionMatrices + 3 * hidden * intermediate);
  // q kᵀ and the weighted sum of v.
  const attention = layers * pairs * heads * headDim * 2;
  const kvTokens = layout === 'none' ? 0 : past + tokens;
  return {
    tokens,
    flops: FLOPS_PER_WEIGHT * (tokens * weights + attention + wanted * hidden * vocab),
    bytes: {
      weights: layerBytes + (wanted > 0 ? head : 0) + tokens * embeddingRow,
      kv: kvTokens * kvBytesPerToken(config),
      logits: wanted * vocab * FLOAT_BYTES,
    },
  };
}

export const totalBytes = ({ bytes: { weights, kv, logits } }: PassWork): number => weights + kv + logits;

/** Whole prompts of so many tokens, side by side. */
export function prefillShape(batch: number, tokens: number): PassShape {
  return {
    ids: Array.from({ length: batch }, () => Array<number>(tokens).fill(0)),
    positions: Array<number>(batch).fill(0),
    logitsAt: Array.from({ length: batch }, (_, row) => (row + 1) * tokens - 1),
  };
}

/** A token for each of so many rows, which have `context` tokens in the cache. */
export function decodeShape(batch: number, context: number): PassShape {
  const rows = Array.from({ length: batch }, (_, row) => row);
  return { ids: rows.map(() => [0]), positions: rows.map(() => context), logitsAt: rows };
}
