/**
 * The width that a run of so many new tokens gets, dummies at its end: even, and above 15 tokens at most an eighth
 * wider than they need, so that few shapes occur. A shape that is new costs a binding and ONNX Runtime's own planning, several times what
 * a short prompt's pass does.
 */
export function bucketWidth(tokens: number): number {
  if (tokens <= 1) return tokens;
  const step = Math.max(2, 2 ** (Math.floor(Math.log2(tokens)) - 3));
  return Math.ceil(tokens / step) * step;
}
