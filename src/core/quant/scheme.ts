import { RxllmError } from '../errors.ts';

export const BITS = [4, 8] as const;
export const GROUP_SIZES = [16, 32, 64, 128] as const;

/** How the weights of a matrix become whole numbers. */
export interface QuantScheme {
  readonly bits: (typeof BITS)[number];
  /** Neighbouring weights of a row that share a scale; `channel`: the whole row. */
  readonly groupSize: (typeof GROUP_SIZES)[number] | 'channel';
  /** Zero has the code in the middle of the range; else each group has a zero point of its own. */
  readonly symmetric: boolean;
}

export interface SchemeOptions {
  readonly bits: number;
  readonly groupSize: number | 'channel';
  readonly symmetric?: boolean;
}

/** @throws RxllmError `RXLLM_OPTION_INVALID` naming what is supported */
export function quantScheme({ bits, groupSize, symmetric = true }: SchemeOptions): QuantScheme {
  return {
    bits: oneOf('bits', BITS, bits),
    groupSize: oneOf('groupSize', [...GROUP_SIZES, 'channel'] as const, groupSize),
    symmetric,
  };
}

function oneOf<T>(param: string, supported: readonly T[], given: unknown): T {
  const found = supported.find((value) => value === given);
  if (found !== undefined) return found;
  const message = `${param} ${given} is not supported; supported: ${supported.join(', ')}`;
  throw new RxllmError('RXLLM_OPTION_INVALID', message, { param });
}

/** The code of zero where quantization is symmetric. */
export const middle = (bits: number): number => 2 ** (bits - 1);
