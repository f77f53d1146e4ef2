import type { ModelConfig } from '../contracts/index.ts';
import type { Attend, AttentionKernel } from './attention.ts';
import type { Edge, OnnxBuilder } from './onnx-builder.ts';
import { extend } from './rotary.ts';

/** Low enough that its exponential is 0, and finite, so that no row turns to NaN. */
const MASKED = -1e9;

/** Every query's score against every key at once: its scratch grows with the square of a prompt's length. */
export const scoreMatrix: AttentionKernel = (g, config, { positions, rectangle }, keys) =>
  groupedAttention(g, config, rectangle, causalMask(g, config, positions, keys));

/**
 * softmax(q kᵀ / √headDim + mask) v, op by op. The query heads that share a key head (GQA, 2023) are folded into the rows
 * of one matrix: `[rows, kvHeads, width × group, headDim]` times `[rows, kvHeads, keys, headDim]`ᵀ.
 * `rectangle` is the shape `[rows, width]`; `mask` is `causalMask`'s.
 */
function groupedAttention(g: OnnxBuilder, config: ModelConfig, rectangle: Edge, mask: Edge): Attend {
  const { heads, kvHeads, headDim } = config;
  const group = heads / kvHeads;
  const rows = g.op('Gather', [rectangle, g.int64([0])]);
  const split = extend(g, rectangle, kvHeads, group, headDim);
  const folded = extend(g, rows, kvHeads, -1, headDim);
  const unfolded = extend(g, rows, kvHeads, -1, group, headDim);
  const alpha = { float: 1 / Math.sqrt(headDim) };
  const { widen, narrow } = group === 1 ? twoQueries(g, g.op('Gather', [rectangle, g.int64([1])])) : AS_IT_IS;
  const swapWidthAndKvHeads = { perm: [0, 2, 1, 3, 4] };
  return (q, k, v) => {
    const swapped = g.op('Transpose', [g.op('Reshape', [q, split])], swapWidthAndKvHeads);
    const query = widen(g.op('Reshape', [swapped, folded]));
    const scores = g.microsoftOp('FusedMatMul', [query, k], { transB: 1, alpha });
    const weights = g.op('Softmax', [g.op('Add', [scores, mask])], { axis: -1 });
    const mixed = g.op('Reshape', [narrow(g.op('MatMul', [weights, v])), unfolded]);
    const back = g.op('Transpose', [mixed], swapWidthAndKvHeads);
    return g.op('Reshape', [back, g.int64([-1, heads * headDim])]);
  };
}

const AS_IT_IS = { widen: (query: Edge) => query, narrow: (mixed: Edge) => mixed };

/**
 * A product with a matrix of one row is another kernel's, which rounds otherwise than that of many. Where heads share no
 * keys and the width is 1, the query therefore stands twice, and a token decodes to the bits it would have in a prompt.
 * `width [1]`.
 */
function twoQueries(g: OnnxBuilder, width: Edge): typeof AS_IT_IS {
  const axis = g.int64([2]);
  const more = g.op('Max', [g.op('Sub', [g.int64([2]), width]), g.int64([0])]);
  const from0to = (x: Edge, end: Edge) => g.op('Slice', [x, g.int64([0]), end, axis]);
  return {
    widen: (query) => g.op('Concat', [query, from0to(query, more)], { axis: 2 }),
    narrow: (mixed) => from0to(mixed, width),
  };
}

/**
 * 0 where a query may look, else very low: key j of a row is visible to the tokens at position j and after it.
 * `[rows, 1, width × group, keys]`; `keys` is a scalar. Computed once for all layers.
 */
function causalMask(g: OnnxBuilder, config: ModelConfig, positions: Edge, keys: Edge): Edge {
  const group = config.heads / config.kvHeads;
  const perQuery = g.op('Expand', [g.op('Unsqueeze', [positions, g.int64([-1])]), g.int64([1, 1, group])]);
  const column = g.op('Reshape', [perQuery, g.int64([0, 1, -1, 1])]);
  const visible = g.op('LessOrEqual', [g.op('Range', [g.int64(0), keys, g.int64(1)]), column]);
  return g.op('Where', [visible, g.float32(0), g.float32(MASKED)]);
}
