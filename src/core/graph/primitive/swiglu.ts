import type { Edge, OnnxBuilder } from '../onnx-builder.ts';

/** silu(gate) × up, with silu(x) = x × sigmoid(x): one half of the layer decides how much of the other passes (GLU variants, 2020). */
export function swiglu(g: OnnxBuilder, gate: Edge, up: Edge): Edge {
  const silu = g.op('Mul', [gate, g.op('Sigmoid', [gate])]);
  return g.op('Mul', [silu, up]);
}
