import type { Model, QuantizationConfig } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import type { TensorToWrite } from '../model/write-safetensors.ts';
import { toHalf } from './half.ts';
import { packGptq } from './packed-tensors.ts';
import { linearModules, type QuantMethod } from './quantize-layers.ts';
import type { QuantizedMatrix } from './quantized-matrix.ts';
import type { QuantScheme } from './scheme.ts';

/** @throws RxllmError `RXLLM_MODEL_UNSUPPORTED` for a model that is quantized already, or whose shapes the format cannot pack */
export function checkStorable({ config, weights }: Pick<Model, 'config' | 'weights'>, { bits }: QuantScheme): void {
  if (config.quantization !== undefined) {
    const found = `the model is quantized already (${config.quantization.method}, ${config.quantization.bits} bits)`;
    throw new RxllmError('RXLLM_MODEL_UNSUPPORTED', `${found}; quantize takes weights in F32, F16 or BF16`);
  }
  const perWord = 32 / bits;
  for (let layer = 0; layer < config.layers; layer++) {
    for (const module of linearModules({ config }, layer)) {
      const { shape } = weights.get(`${module}.weight`)!;
      if (shape.every((size) => size % perWord === 0)) continue;
      const message = `${module} is [${shape}]; GPTQ's format takes multiples of ${perWord} with ${bits} bits`;
      throw new RxllmError('RXLLM_MODEL_UNSUPPORTED', message);
    }
  }
}

/** A zero point of 0 cannot be told from 16 in GPTQ's first format, which all loaders know; symmetric ones never have it. */
export const storedAs = ({ bits, groupSize, symmetric }: QuantScheme): QuantizationConfig => ({
  method: 'gptq',
  bits,
  groupSize,
  zeroOffset: symmetric ? 1 : 0,
});

/** The `quantization_config` of config.json. */
export function gptqConfig(
  { bits, groupSize, zeroOffset }: QuantizationConfig,
  { symmetric }: QuantScheme,
  method: QuantMethod,
) {
  return {
    quant_method: 'gptq',
    bits,
    group_size: groupSize === 'channel' ? -1 : groupSize,
    sym: symmetric,
    // Act-order leaves groups where they are, so that readers have nothing to reorder.
    desc_act: false,
    checkpoint_format: zeroOffset === 1 ? 'gptq' : 'gptq_v2',
    lm_head: false,
    meta: { quantizer: 'rxllm', method: method.name, ...(method.name === 'gptq' && method.options) },
  };
}

/** A module's tensors, by name. */
export function gptqTensors(
  module: string,
  matrix: QuantizedMatrix,
  { zeroOffset }: QuantizationConfig,
): [string, TensorToWrite][] {
  const { rows, columns, bits } = matrix;
  const { qweight, qzeros, scales, groupOfInput } = packGptq(matrix, zeroOffset);
  const groups = scales.length / rows;
  const perWord = 32 / bits;
  return [
    [`${module}.qweight`, { dtype: 'I32', shape: [columns / perWord, rows], data: qweight }],
    [`${module}.qzeros`, { dtype: 'I32', shape: [groups, rows / perWord], data: qzeros }],
    [`${module}.scales`, { dtype: 'F16', shape: [groups, rows], data: Uint16Array.from(scales, toHalf) }],
    [`${module}.g_idx`, { dtype: 'I32', shape: [columns], data: groupOfInput }],
  ];
}
