import type { AttentionKernel, AttentionStrategy } from './attention.ts';
import { type KvSide, NAMES, poolInput, poolOutput } from './graph-inputs.ts';
import type { Edge, OnnxBuilder } from './onnx-builder.ts';
import { ONNX_DTYPE } from './onnx-schema.ts';
import { extend, rotary } from './rotary.ts';

/**
 * The layout of GroupQueryAttention out of plain ops, with a kernel of one's own: new keys and values are scattered into
 * their rows' regions, in place where the output has the input's memory.
 * `reads`: what the kernel gets, a copy of what is `written` or the `whole` region, of which it takes what it needs.
 */
export const regionAttention =
  (kernel: AttentionKernel, reads: 'written' | 'whole'): AttentionStrategy =>
  (g, config) => {
    const { layers, kvHeads, headDim } = config;
    const regionShape = ['rows', kvHeads, 'region', headDim];
    const side = (name: KvSide) =>
      Array.from({ length: layers }, (_, layer) => g.input(poolInput(name, layer), 'float32', regionShape));
    const pools = { key: side('key'), value: side('value') };
    const rope = rotary(g, config);
    g.input(NAMES.lastPositions, 'int32', ['rows']);
    const written = g.op('Cast', [g.input(NAMES.totalLength, 'int32', [1])], { to: ONNX_DTYPE.int64 });
    const places = regionPlaces(g, kvHeads, rope.positions, rope.rectangle);
    const keys = reads === 'written' ? written : g.op('Gather', [g.op('Shape', [pools.key[0]!]), g.int64([2])]);
    const attend = kernel(g, config, rope, g.op('Squeeze', [keys]));
    const cut = (region: Edge) => g.op('Slice', [region, g.int64([0]), written, g.int64([2])]);

    const write = (name: KvSide, layer: number, fresh: Edge): Edge => {
      const output = poolOutput(name, layer);
      g.output(output, 'float32', regionShape);
      const region = g.op('ScatterND', [pools[name][layer]!, places, fresh], {}, output);
      return reads === 'written' ? cut(region) : region;
    };
    return {
      attend(layer, qkv) {
        const { q, k, v } = rope.rotate(qkv);
        return attend(q, write('key', layer, k), write('value', layer, v));
      },
      finish() {},
    };
  };

/** Where each new token's keys go, as (row, head, position): `[rows × width, kvHeads, 1, 3]`. */
function regionPlaces(g: OnnxBuilder, kvHeads: number, positions: Edge, rectangle: Edge): Edge {
  const shape = extend(g, rectangle, kvHeads, 1);
  const spread = (x: Edge) => g.op('Expand', [x, shape]);
  const rows = g.op('Range', [g.int64(0), g.op('Gather', [rectangle, g.int64(0)]), g.int64(1)]);
  const heads = g.int64(Array.from({ length: kvHeads }, (_, head) => head));
  const place = g.op(
    'Concat',
    [
      spread(g.op('Reshape', [rows, g.int64([-1, 1, 1, 1])])),
      spread(g.op('Reshape', [heads, g.int64([1, 1, -1, 1])])),
      spread(g.op('Unsqueeze', [positions, g.int64([-1, -2])])),
    ],
    { axis: -1 },
  );
  return g.op('Reshape', [place, g.int64([-1, kvHeads, 1, 3])]);
}
