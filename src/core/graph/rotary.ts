import type { ModelConfig } from '../contracts/index.ts';
import { NAMES } from './graph-inputs.ts';
import type { Edge, OnnxBuilder } from './onnx-builder.ts';
import { ropeTables } from './rope.ts';

export interface QueryKeyValue {
  /** `[rows, width, heads × headDim]`, turned to its position. */
  readonly q: Edge;
  /** `[rows, width, kvHeads × headDim]`, turned to its position. */
  readonly k: Edge;
  /** `[rows, width, kvHeads × headDim]` */
  readonly v: Edge;
}

/** The positions of the new tokens, and the rotary embedding's tables, as a graph has them. */
export interface Rotary {
  /** `[rows, width]` */
  readonly positions: Edge;
  /** That shape itself. */
  readonly rectangle: Edge;
  /** `[maxPositions, headDim / 2]` each. */
  readonly cos: Edge;
  readonly sin: Edge;
  /** From q, k and v side by side, `[rows × width, (heads + 2 kvHeads) × headDim]`. */
  rotate(qkv: Edge): QueryKeyValue;
}

export function rotary(g: OnnxBuilder, config: ModelConfig): Rotary {
  const { heads, kvHeads, headDim, maxPositions } = config;
  const tables = ropeTables(config.rope, headDim, maxPositions);
  const cos = g.tensor('rope_cos', [maxPositions, headDim / 2], tables.cos);
  const sin = g.tensor('rope_sin', [maxPositions, headDim / 2], tables.sin);
  const positions = g.input(NAMES.positions, 'int64', ['rows', 'width']);
  const rectangle = g.op('Shape', [positions]);
  const turn = (x: Edge, count: number) =>
    g.microsoftOp('RotaryEmbedding', [x, positions, cos, sin], { num_heads: count });
  return {
    positions,
    rectangle,
    cos,
    sin,
    rotate(qkv) {
      const outputs = [g.freshName('q'), g.freshName('k'), g.freshName('v')] as const;
      const [q, k, v] = outputs;
      const sizes = g.int64([heads * headDim, kvHeads * headDim, kvHeads * headDim]);
      g.ops('Split', [g.op('Reshape', [qkv, extend(g, rectangle, -1)]), sizes], { axis: -1 }, outputs);
      return { q: turn(q, heads), k: turn(k, kvHeads), v };
    },
  };
}

/** `[...shape, ...dims]`, for Reshape. */
export function extend(g: OnnxBuilder, shape: Edge, ...dims: readonly number[]): Edge {
  return g.op('Concat', [shape, g.int64(dims)], { axis: 0 });
}
