import type { ModelConfig } from '../contracts/index.ts';
import { EMBEDDINGS, HEAD } from '../graph/graph-weights.ts';
import { decodeModel, ONNX_DTYPE, type TensorMessage } from '../graph/onnx-schema.ts';

/** What multiplies a model's matrices: float32, `MatMulNBits` at accuracy level 4, or int8 by rows. */
export type MatrixKernel = 'float32' | 'int8' | 'int4' | 'row-int8';

/** Bytes of a graph's weights as they lie in memory while it runs. */
export interface WeightTraffic {
  /** All layers and the last norm: every pass reads them. */
  readonly layers: number;
  /** lm_head, which a pass reads if it wants logits; with tied embeddings the same memory as their table. */
  readonly head: number;
  /** A token's own row of the embeddings. */
  readonly embeddingRow: number;
  /** Of the layers' matrices. */
  readonly kernel: MatrixKernel;
}

const BYTES: Readonly<Record<number, number>> = {
  [ONNX_DTYPE.float32]: 4,
  // The cast to float32 is folded when the session is made.
  [ONNX_DTYPE.float16]: 4,
  [ONNX_DTYPE.bfloat16]: 4,
  [ONNX_DTYPE.uint8]: 1,
  [ONNX_DTYPE.int8]: 1,
};

/** Counts the initializers of a graph that a `ModelSlot` has authored, by the names that all of them use. */
export function weightTraffic(onnx: Uint8Array, { vocab, tiedEmbeddings }: ModelConfig): WeightTraffic {
  const { initializer, node } = decodeModel(onnx).graph;
  let [layers, head, table, lookup] = [0, 0, 0, 0];
  for (const tensor of initializer) {
    const { name } = tensor;
    if (name === `${EMBEDDINGS}.weight`) table += bytesOf(tensor);
    else if (name.startsWith(`${EMBEDDINGS}.lookup.`)) lookup += bytesOf(tensor);
    else if (name.startsWith(EMBEDDINGS) || name.startsWith(HEAD)) head += bytesOf(tensor);
    else if (name.startsWith('model.')) layers += bytesOf(tensor);
  }
  const quantized = node.find(({ opType }) => opType === 'MatMulNBits' || opType === 'MatMulInteger');
  const bits = quantized?.attribute.find(({ name }) => name === 'bits')?.i;
  return {
    layers,
    head: head === 0 && tiedEmbeddings ? table : head,
    embeddingRow: (lookup || table) / vocab,
    kernel: quantized === undefined ? 'float32' : bits === undefined ? 'row-int8' : bits === 4 ? 'int4' : 'int8',
  };
}

function bytesOf({ dims, dataType }: TensorMessage): number {
  return dims.reduce((product, size) => product * size, BYTES[dataType] ?? 0);
}
