import type { Edge, OnnxBuilder } from '../onnx-builder.ts';

/**
 * Turns dimension i and i + headDim / 2 of each head by an angle that grows with the token's position, so that the product
 * of a query and a key depends on how far apart they are (RoFormer, 2021; the halves as in Llama).
 * x `[rows, heads, width, headDim]`, cos and sin `[rows, 1, width, headDim / 2]`.
 */
export function rope(g: OnnxBuilder, x: Edge, cos: Edge, sin: Edge, headDim: number): Edge {
  const half = (from: number, to: number) => g.op('Slice', [x, g.int64([from]), g.int64([to]), g.int64([-1])]);
  const a = half(0, headDim / 2);
  const b = half(headDim / 2, headDim);
  const turnedA = g.op('Sub', [g.op('Mul', [a, cos]), g.op('Mul', [b, sin])]);
  const turnedB = g.op('Add', [g.op('Mul', [b, cos]), g.op('Mul', [a, sin])]);
  return g.op('Concat', [turnedA, turnedB], { axis: -1 });
}
