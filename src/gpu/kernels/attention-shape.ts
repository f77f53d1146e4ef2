/** q and o `[tokens, heads, headDim]`, k and v `[tokens, kvHeads, headDim]`; causal; heads in a row share a key head. */
export interface AttentionShape {
  readonly tokens: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/** Scores are scaled by it. */
export const scoreScale = (headDim: number): number => 1 / Math.sqrt(headDim);
