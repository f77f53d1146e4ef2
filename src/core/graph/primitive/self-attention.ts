import type { ModelConfig } from '../../contracts/index.ts';
import { NAMES } from '../graph-inputs.ts';
import type { GraphWeights } from '../graph-weights.ts';
import type { Edge, OnnxBuilder } from '../onnx-builder.ts';
import { ropeTables } from '../rope.ts';
import { attention, causalMask } from './attention.ts';
import { rope } from './rope.ts';

/**
 * x `[tokens, hidden]` → `[tokens, hidden]` for the module of each layer: q, k and v, turned to their positions, attention
 * head by head, and the heads joined again. Positions, angles and the mask are made once for all layers.
 */
export function selfAttention(
  g: OnnxBuilder,
  weights: GraphWeights,
  config: ModelConfig,
): (x: Edge, module: string) => Edge {
  const { heads, kvHeads, headDim, maxPositions } = config;
  const positions = g.input(NAMES.positions, 'int64', ['rows', 'width']);
  const rectangle = g.op('Shape', [positions]);
  const rows = g.op('Gather', [rectangle, g.int64([0])]);
  const width = g.op('Gather', [rectangle, g.int64([1])]);
  const shape = (...dims: readonly (Edge | number)[]) =>
    g.op(
      'Concat',
      dims.map((dim) => (typeof dim === 'number' ? g.int64([dim]) : dim)),
      { axis: 0 },
    );
  /** `[tokens, count × headDim]` → `[rows, count, width, headDim]` */
  const byHead = (x: Edge, count: number) =>
    g.op('Transpose', [g.op('Reshape', [x, shape(rows, width, count, headDim)])], { perm: [0, 2, 1, 3] });
  /** `[rows, kvHeads × count, width, headDim]` → `[rows, kvHeads, count, width, headDim]` */
  const grouped = (x: Edge, count: number) => g.op('Reshape', [x, shape(rows, kvHeads, count, width, headDim)]);

  const tables = ropeTables(config.rope, headDim, maxPositions);
  /** The row of each position's angles, `[rows, 1, width, headDim / 2]`. */
  const atPositions = (name: string, table: Float32Array) => {
    const all = g.tensor(name, [maxPositions, headDim / 2], table);
    return g.op('Unsqueeze', [g.op('Gather', [all, positions], { axis: 0 }), g.int64([1])]);
  };
  const cos = atPositions('rope_cos', tables.cos);
  const sin = atPositions('rope_sin', tables.sin);
  const mask = causalMask(g, positions, g.op('Squeeze', [width]));

  return (x, module) => {
    const q = rope(g, byHead(weights.linear(x, `${module}.q_proj`), heads), cos, sin, headDim);
    const k = rope(g, byHead(weights.linear(x, `${module}.k_proj`), kvHeads), cos, sin, headDim);
    const v = byHead(weights.linear(x, `${module}.v_proj`), kvHeads);
    const mixed = attention(g, grouped(q, heads / kvHeads), grouped(k, 1), grouped(v, 1), mask, headDim);
    const headsLast = g.op('Transpose', [mixed], { perm: [0, 3, 1, 2, 4] });
    return weights.linear(g.op('Reshape', [headsLast, g.int64([-1, heads * headDim])]), `${module}.o_proj`);
  };
}
