import type { Edge, OnnxBuilder } from '../onnx-builder.ts';

/** ids `[tokens]` → `[tokens, hidden]`: each token's row of the table `[vocab, hidden]`. */
export function embedding(g: OnnxBuilder, ids: Edge, table: Edge): Edge {
  return g.op('Gather', [table, ids], { axis: 0 });
}
