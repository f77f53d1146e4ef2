import type { Edge, OnnxBuilder } from '../onnx-builder.ts';

/** Low enough that its exponential is 0, and finite, so that no row turns to NaN. */
const MASKED = -1e9;

/**
 * softmax(q kᵀ / √headDim + mask) v. Several query heads share one head of keys and values (GQA, 2023): a 1 in the shape
 * makes MatMul broadcast it over its group.
 * q `[rows, kvHeads, group, width, headDim]`, k and v `[rows, kvHeads, 1, width, headDim]`, mask `[rows, 1, 1, width, width]`
 * → like q.
 */
export function attention(g: OnnxBuilder, q: Edge, k: Edge, v: Edge, mask: Edge, headDim: number): Edge {
  const keysAsColumns = g.op('Transpose', [k], { perm: [0, 1, 2, 4, 3] });
  const products = g.op('MatMul', [q, keysAsColumns]);
  const scores = g.op('Mul', [products, g.float32(1 / Math.sqrt(headDim))]);
  const weights = g.op('Softmax', [g.op('Add', [scores, mask])], { axis: -1 });
  return g.op('MatMul', [weights, v]);
}

/**
 * 0 where the key stands at or before the query, else very low: key j of a row is its token at position j. Padding is
 * behind every real token, so no query sees it. positions `[rows, width]`, width a scalar → `[rows, 1, 1, width, width]`.
 */
export function causalMask(g: OnnxBuilder, positions: Edge, width: Edge): Edge {
  const queries = g.op('Unsqueeze', [positions, g.int64([1, 2, 4])]);
  const keys = g.op('Range', [g.int64(0), width, g.int64(1)]);
  return g.op('Where', [g.op('LessOrEqual', [keys, queries]), g.float32(0), g.float32(MASKED)]);
}
