import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { WeightLocation } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { fromHalf } from './half.ts';

/** The bytes of a tensor, read at once. @throws RxllmError `RXLLM_MODEL_FILE_INVALID` */
export function readBytes(directory: string, { file, offset, length }: WeightLocation): Uint8Array {
  const bytes = new Uint8Array(length);
  try {
    const fd = openSync(join(directory, file), 'r');
    try {
      // One call reads at most 2 GiB.
      for (let read = 0; read < length; ) {
        const count = readSync(fd, bytes, read, Math.min(length - read, 1 << 30), offset + read);
        if (count === 0) throw new Error(`it ends at byte ${offset + read}`);
        read += count;
      }
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    throw new RxllmError('RXLLM_MODEL_FILE_INVALID', `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  return bytes;
}

/** A tensor of a float dtype as float32. @throws RxllmError `RXLLM_MODEL_FILE_INVALID` */
export function readFloats(directory: string, location: WeightLocation): Float32Array {
  const { buffer } = readBytes(directory, location);
  switch (location.dtype) {
    case 'F32':
      return new Float32Array(buffer);
    case 'F16':
      return fromHalves(new Uint16Array(buffer));
    case 'BF16':
      return fromBfloats(new Uint16Array(buffer));
    case 'I32':
      throw new RxllmError('RXLLM_MODEL_FILE_INVALID', `${location.file}: a tensor of floats has dtype I32`);
  }
}

// Loops: `from` with a function takes ten times as long.
function fromHalves(halves: Uint16Array): Float32Array {
  const floats = new Float32Array(halves.length);
  const values = allHalves();
  for (let i = 0; i < halves.length; i++) floats[i] = values[halves[i]!]!;
  return floats;
}

/** A bfloat16 is the upper half of a float32. */
function fromBfloats(bfloats: Uint16Array): Float32Array {
  const words = new Uint32Array(bfloats.length);
  for (let i = 0; i < bfloats.length; i++) words[i] = bfloats[i]! << 16;
  return new Float32Array(words.buffer);
}

let table: Float32Array | undefined;

/** All float16 numbers: looking one up is far faster than computing it. */
function allHalves(): Float32Array {
  table ??= Float32Array.from({ length: 0x10000 }, (_, half) => fromHalf(half));
  return table;
}
