import type { Edge, OnnxBuilder } from '../onnx-builder.ts';

/**
 * x / √(mean(x²) + epsilon) × weight, over the last axis: every vector is brought to length about √hidden, then each of
 * its dimensions is scaled by a learned factor (RMSNorm, 2019). x `[…, hidden]`, weight `[hidden]`.
 */
export function rmsNorm(g: OnnxBuilder, x: Edge, weight: Edge, epsilon: number): Edge {
  const squares = g.op('Mul', [x, x]);
  const mean = g.op('ReduceMean', [squares, g.int64([-1])], { keepdims: 1 });
  const length = g.op('Sqrt', [g.op('Add', [mean, g.float32(epsilon)])]);
  return g.op('Mul', [g.op('Div', [x, length]), weight]);
}
