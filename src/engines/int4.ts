import type { ModelSlot } from '../core/contracts/index.ts';
import { quantized } from '../core/graph/quantized.ts';
import { continuous } from './continuous-batching.ts';
import { swap } from './swap.ts';

/** What `--quantize` may ask for. */
export const QUANTIZATIONS = {
  int4: quantized({ bits: 4, groupSize: 32 }),
  int8: quantized({ bits: 8, groupSize: 32 }),
  'row-int8': quantized({ bits: 8, groupSize: 'channel', kernel: 'row-int8' }),
} as const satisfies Record<string, ModelSlot>;
export type Quantization = keyof typeof QUANTIZATIONS;

/** Chapter 12: four bits a weight. */
export const int4 = swap(continuous, { name: 'int4', exact: false, model: QUANTIZATIONS.int4 });
