import { groupsOf, type QuantizedMatrix } from './quantized-matrix.ts';
import { middle } from './scheme.ts';

/** A matrix as ONNX Runtime's `MatMulNBits` takes it. */
export interface PackedBlocks {
  readonly blockSize: number;
  readonly blocks: number;
  /** `[rows, blocks, blockSize × bits / 8]`, the first of two 4-bit codes in the low half of a byte. */
  readonly data: Uint8Array;
  /** `[rows, blocks]` */
  readonly scales: Float32Array;
  /** `[rows, ⌈blocks × bits / 8⌉]`; absent where every zero is the middle code. */
  readonly zeros?: Uint8Array;
}

/**
 * Blocks are groups, or parts of one with the same scale; a short last block is filled with zeros.
 */
export function packBlocks(matrix: QuantizedMatrix): PackedBlocks {
  const { rows, columns, bits, groupSize, codes } = matrix;
  const groups = groupsOf(matrix);
  const blockSize = blockSizeFor(groupSize);
  const blocks = Math.ceil(columns / blockSize);
  const perByte = 8 / bits;
  const rowBytes = (blocks * blockSize) / perByte;
  const zeroBytes = Math.ceil(blocks / perByte);
  const data = new Uint8Array(rows * rowBytes);
  const scales = new Float32Array(rows * blocks);
  const zeros = new Uint8Array(rows * zeroBytes);
  const padded = new Uint8Array(blocks * blockSize);
  for (let row = 0; row < rows; row++) {
    padded.set(codes.subarray(row * columns, (row + 1) * columns));
    for (let block = 0; block < blocks; block++) {
      const group = row * groups + Math.floor((block * blockSize) / groupSize);
      const zero = matrix.zeros[group]!;
      scales[row * blocks + block] = matrix.scales[group]!;
      zeros[row * zeroBytes + Math.floor(block / perByte)]! |= zero << (bits * (block % perByte));
      if ((block + 1) * blockSize > columns) padded.fill(zero, columns);
    }
    if (bits === 8) data.set(padded, row * rowBytes);
    else packNibbles(padded, data, row * rowBytes);
  }
  const packed = { blockSize, blocks, data, scales };
  return matrix.zeros.every((zero) => zero === middle(bits)) ? packed : { ...packed, zeros };
}

export function packNibbles(codes: Uint8Array, into: Uint8Array, at: number): void {
  for (let i = 0; i < codes.length; i += 2) into[at + i / 2] = codes[i]! | (codes[i + 1]! << 4);
}

/**
 * Never above 32: with longer blocks MatMulNBits sums in another order for one row than for several (ONNX Runtime 1.30 on
 * x64), and then a row's result would depend on its batch. So a longer group is several blocks.
 */
const blockSizeFor = (groupSize: number): number => (groupSize % 32 === 0 ? 32 : 16);

/** Bytes of the packed form. */
export function packedBytes({ data, scales, zeros }: PackedBlocks): number {
  return data.byteLength + scales.byteLength + (zeros?.byteLength ?? 0);
}
