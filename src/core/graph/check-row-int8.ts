import { RxllmError } from '../errors.ts';
import { readBytes } from '../quant/read-tensor.ts';
import { middle } from '../quant/scheme.ts';
import type { ModelWeights } from './llama-graph.ts';

/**
 * What a checkpoint has quantized already must be as kernel `row-int8` takes it. Told from the headers and the zero points,
 * before any weights are read.
 * @throws RxllmError `RXLLM_OPTION_INVALID`
 */
export function checkRowInt8({ directory, config: { quantization }, weights }: ModelWeights): void {
  if (quantization === undefined) return;
  const { bits, zeroOffset } = quantization;
  for (const [name, location] of weights) {
    if (!name.endsWith('.qzeros')) continue;
    const scales = location.shape[0]!;
    const isSymmetric = () => readBytes(directory, location).every((byte) => byte === middle(8) - zeroOffset);
    if (bits === 8 && scales === 1 && isSymmetric()) continue;
    const found = `${bits} bits, ${scales} ${scales === 1 ? 'scale' : 'scales'} a row`;
    const symmetry = bits === 8 && scales === 1 ? ', asymmetric' : '';
    throw new RxllmError(
      'RXLLM_OPTION_INVALID',
      `kernel row-int8 takes 8 bits, symmetric, one scale a row; the model is quantized already, and ` +
        `${name.replace(/\.qzeros$/, '')} has ${found}${symmetry}: use kernel blocks, as int4 and int8 do`,
      { param: 'kernel' },
    );
  }
}
