import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { WeightDtype } from '../contracts/index.ts';

export interface TensorToWrite {
  readonly dtype: WeightDtype;
  readonly shape: readonly number[];
  readonly data: Uint8Array | Uint16Array | Int32Array | Float32Array;
}

/** Writes a `.safetensors` file under another name first: one that has its name is whole. */
export async function writeSafetensors(
  directory: string,
  file: string,
  tensors: ReadonlyMap<string, TensorToWrite>,
): Promise<void> {
  let end = 0;
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  for (const [name, { dtype, shape, data }] of tensors) {
    header[name] = { dtype, shape, data_offsets: [end, end + data.byteLength] };
    end += data.byteLength;
  }
  const json = Buffer.from(JSON.stringify(header));
  // The data begins at a multiple of 8, for readers that map it.
  const padded = Buffer.concat([json, Buffer.alloc((8 - (json.length % 8)) % 8, ' ')]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  const partial = join(directory, `${file}.partial`);
  const handle = await open(partial, 'w');
  try {
    await handle.writeFile(length);
    await handle.writeFile(padded);
    for (const { data } of tensors.values()) {
      await handle.writeFile(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    }
  } finally {
    await handle.close();
  }
  await rename(partial, join(directory, file));
}
