import { RxllmError } from '../errors.ts';
import { groupsOf, type QuantizedMatrix } from '../quant/quantized-matrix.ts';
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
    const isSymmetric = () => readBytes(directory, location).every((byte) => byte === middle(8) - zeroOffset);
    refuseOthers(name.replace(/\.qzeros$/, ''), { bits, scales: location.shape[0]!, isSymmetric });
  }
}

/** The same of a matrix, wherever it is from. @throws RxllmError `RXLLM_OPTION_INVALID` */
export function checkRowInt8Matrix(name: string, matrix: QuantizedMatrix): void {
  const isSymmetric = () => matrix.zeros.every((code) => code === middle(8));
  refuseOthers(name, { bits: matrix.bits, scales: groupsOf(matrix), isSymmetric });
}

interface Stored {
  readonly bits: number;
  /** A row. */
  readonly scales: number;
  /** Asked only where the rest fits. */
  readonly isSymmetric: () => boolean;
}

function refuseOthers(name: string, { bits, scales, isSymmetric }: Stored): void {
  const isOneScale = bits === 8 && scales === 1;
  if (isOneScale && isSymmetric()) return;
  const found = `${bits} bits, ${scales} ${scales === 1 ? 'scale' : 'scales'} a row${isOneScale ? ', asymmetric' : ''}`;
  throw new RxllmError(
    'RXLLM_OPTION_INVALID',
    `kernel row-int8 takes 8 bits, symmetric, one scale a row; ${name} has ${found}: use kernel blocks, as int4 and int8 do`,
    { param: 'kernel' },
  );
}
