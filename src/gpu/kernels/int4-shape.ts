import { RxllmError } from '../../core/errors.ts';
import type { PackedBlocks } from '../../core/quant/pack-blocks.ts';

/** y `[rows]` = W x, W in 4-bit codes as {@link PackedBlocks} has them, symmetric: a weight is (code − 8) × scale. */
export interface Int4Shape {
  readonly rows: number;
  /** A row. */
  readonly blocks: number;
  readonly blockSize: number;
}

/** Codes in a u32: code i of a word in bits 4 i to 4 i + 3. */
export const CODES_A_WORD = 8;

/** @throws RxllmError `RXLLM_KERNEL_INVALID` where groups have zero points, or codes are not of 4 bits */
export function int4Shape({ blocks, blockSize, data, scales, zeros }: PackedBlocks): Int4Shape {
  if (zeros !== undefined || data.length !== (scales.length * blockSize) / 2) {
    throw new RxllmError('RXLLM_KERNEL_INVALID', 'the int4 kernels take 4 bits, symmetric: without zero points');
  }
  return { rows: scales.length / blocks, blocks, blockSize };
}

/** The codes as the kernels read them, and x padded with zeros to whole blocks. */
export const int4Words = ({ data }: PackedBlocks): Uint32Array<ArrayBuffer> => new Uint32Array(data.slice().buffer);

export function paddedToBlocks(x: Float32Array, { blocks, blockSize }: Int4Shape): Float32Array<ArrayBuffer> {
  const padded = new Float32Array(blocks * blockSize);
  padded.set(x);
  return padded;
}
