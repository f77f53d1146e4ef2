import type { ModelConfig } from '../contracts/index.ts';
import { NAMES } from './graph-inputs.ts';
import type { Edge, OnnxBuilder } from './onnx-builder.ts';
import { ropeTables } from './rope.ts';

export interface QueryKeyValue {
  /** `[rows × width, heads, 1, headDim]`, turned to its position. */
  readonly q: Edge;
  /** `[rows × width, kvHeads, 1, headDim]`, turned to its position. */
  readonly k: Edge;
  /** `[rows × width, kvHeads, 1, headDim]` */
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
  // The op takes [batch, heads, sequence, headDim]. With each token a batch of its own nothing needs to be transposed.
  const perToken = g.op('Reshape', [positions, g.int64([-1, 1])]);
  const turn = (x: Edge) => g.microsoftOp('RotaryEmbedding', [x, perToken, cos, sin]);
  return {
    positions,
    rectangle,
    cos,
    sin,
    rotate(qkv) {
      const outputs = [g.freshName('q'), g.freshName('k'), g.freshName('v')] as const;
      const [q, k, v] = outputs;
      const byHead = g.op('Reshape', [qkv, g.int64([-1, heads + 2 * kvHeads, 1, headDim])]);
      g.ops('Split', [byHead, g.int64([heads, kvHeads, kvHeads])], { axis: 1 }, outputs);
      return { q: turn(q), k: turn(k), v };
    },
  };
}

/** `[...shape, ...dims]`, for Reshape. */
export function extend(g: OnnxBuilder, shape: Edge, ...dims: readonly number[]): Edge {
  return g.op('Concat', [shape, g.int64(dims)], { axis: 0 });
}
