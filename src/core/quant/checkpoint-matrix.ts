import type { Model, ModelConfig, QuantizationConfig } from '../contracts/index.ts';
import { expectedTensors } from '../model/weights.ts';
import { unpack } from './packed-tensors.ts';
import type { QuantizedMatrix } from './quantized-matrix.ts';
import { readBytes, readFloats } from './read-tensor.ts';

type Checkpoint = Pick<Model, 'directory' | 'weights'>;

/** The matrix of a module as the checkpoint stores it; undefined where it stores floats. @throws RxllmError `RXLLM_MODEL_FILE_INVALID` */
export function checkpointMatrix(
  { directory, weights, config }: Checkpoint & { readonly config: ModelConfig },
  module: string,
): QuantizedMatrix | undefined {
  const shape = expectedTensors(config).get(`${module}.weight`);
  if (config.quantization === undefined || shape === undefined || !weights.has(`${module}.qweight`)) return undefined;
  const [rows, columns] = shape as [number, number];
  return readPacked({ directory, weights }, module, { rows, columns }, config.quantization);
}

export function readPacked(
  { directory, weights }: Checkpoint,
  module: string,
  shape: { readonly rows: number; readonly columns: number },
  quantization: QuantizationConfig,
): QuantizedMatrix {
  const words = (part: string) => new Int32Array(readBytes(directory, weights.get(`${module}.${part}`)!).buffer);
  const tensors = {
    qweight: words('qweight'),
    qzeros: words('qzeros'),
    scales: readFloats(directory, weights.get(`${module}.scales`)!),
    ...(weights.has(`${module}.g_idx`) && { groupOfInput: words('g_idx') }),
  };
  return unpack(tensors, shape, quantization);
}
