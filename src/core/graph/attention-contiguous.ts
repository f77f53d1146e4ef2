import type { AttentionStrategy } from './attention.ts';
import { KV_SIDES, NAMES, poolInput, poolOutput } from './graph-inputs.ts';
import type { Edge } from './onnx-builder.ts';
import { extend, rotary } from './rotary.ts';

/** GroupQueryAttention's own rotary embedding takes only head sizes that are multiples of this. */
const ROTARY_HEAD_MULTIPLE = 16;

/**
 * ONNX Runtime's GroupQueryAttention over one full-length region a row. In place, its present is its past's memory;
 * returned, the whole region is copied, at a cost that grows with its length and not with what it holds.
 */
export const contiguousAttention: AttentionStrategy = (g, config) => {
  const { heads, kvHeads, headDim } = config;
  const regionShape = ['rows', kvHeads, 'region', headDim];
  const rope = rotary(g, config);
  const lastPositions = g.input(NAMES.lastPositions, 'int32', ['rows']);
  const totalLength = g.input(NAMES.totalLength, 'int32', [1]);
  const byRow = extend(g, rope.rectangle, -1);
  const fused = headDim % ROTARY_HEAD_MULTIPLE === 0;
  const scale = { float: 1 / Math.sqrt(headDim) };
  const attributes = { num_heads: heads, kv_num_heads: kvHeads, do_rotary: fused ? 1 : 0, scale };

  /** q, k and v as the op takes them: packed in the first, or apart and already turned. */
  const queryKeyValue = (qkv: Edge): readonly Edge[] => {
    if (fused) return [g.op('Reshape', [qkv, byRow]), '', ''];
    const { q, k, v } = rope.rotate(qkv);
    return [q, k, v].map((x) => g.op('Reshape', [x, byRow]));
  };

  return {
    attend(layer, qkv) {
      const past = KV_SIDES.map((side) => g.input(poolInput(side, layer), 'float32', regionShape));
      const present = KV_SIDES.map((side) => poolOutput(side, layer));
      for (const output of present) g.output(output, 'float32', regionShape);
      const tables = fused ? [rope.cos, rope.sin] : [];
      const attended = g.freshName('attended');
      const inputs = [...queryKeyValue(qkv), ...past, lastPositions, totalLength, ...tables];
      g.microsoftOps('GroupQueryAttention', inputs, attributes, [attended, ...present]);
      return g.op('Reshape', [attended, g.int64([-1, heads * headDim])]);
    },
    finish() {},
  };
};
