import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { WeightDtype, WeightLocation } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { isRecord } from '../is-record.ts';
import { fileMissing, isMissing, unsupported } from './model-errors.ts';

const BYTES: Readonly<Record<WeightDtype, number>> = { F32: 4, F16: 2, BF16: 2, I32: 4 };
const OTHER_DTYPES = /^(BOOL|I(8|16|64)|U(8|16|32|64)|F64|C64|F4|F6_E\dM\d|F8_E\w+)$/;
/** As in the reference implementation: a longer header is damage, not a model. */
const MAX_HEADER_BYTES = 100_000_000;

/**
 * Reads the header of a `.safetensors` file (8 bytes of length, JSON, data) and checks it against the file's size as
 * the reference implementation does: the tensors cover the data exactly. The weights themselves are not read.
 * @throws RxllmError `RXLLM_MODEL_FILE_MISSING`, `RXLLM_MODEL_FILE_INVALID`, `RXLLM_MODEL_UNSUPPORTED` (dtype)
 */
export async function readSafetensorsHeader(directory: string, file: string): Promise<Map<string, WeightLocation>> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(join(directory, file));
    const fileBytes = (await handle.stat()).size;
    if (fileBytes < 8) throw invalid(file, `the file has ${fileBytes} bytes; the header's length alone takes 8`);
    const headerBytes = (await readBytes(handle, 0, 8, file)).readBigUInt64LE();
    const most = Math.min(fileBytes - 8, MAX_HEADER_BYTES);
    if (headerBytes > most) {
      throw invalid(file, `the header claims ${headerBytes} bytes; in a file of ${fileBytes} at most ${most} fit`);
    }
    const header = parseHeader(await readBytes(handle, 8, Number(headerBytes), file), file);
    return locate(header, file, 8 + Number(headerBytes), fileBytes);
  } catch (cause) {
    if (cause instanceof RxllmError) throw cause;
    throw isMissing(cause)
      ? fileMissing(directory, file)
      : invalid(file, `cannot be read: ${(cause as Error).message}`);
  } finally {
    await handle?.close();
  }
}

async function readBytes(handle: FileHandle, position: number, length: number, file: string): Promise<Buffer> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead < length) throw invalid(file, `the file ends at byte ${position + bytesRead} while it is read`);
  return buffer;
}

function parseHeader(bytes: Buffer, file: string): Readonly<Record<string, unknown>> {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw invalid(file, `the header is not JSON (${(cause as Error).message})`);
  }
  if (!isRecord(header)) throw invalid(file, 'the header is not a JSON object');
  return header;
}

function locate(header: Readonly<Record<string, unknown>>, file: string, dataStart: number, fileBytes: number) {
  const locations = Object.entries(header)
    .filter(([name]) => name !== '__metadata__')
    .map(([name, entry]) => [name, parseEntry(name, entry, file, dataStart)] as const);
  const byOffset = [...locations].sort(([, a], [, b]) => a.offset - b.offset || a.length - b.length);
  let end = dataStart;
  for (const [name, { offset, length }] of byOffset) {
    if (offset !== end) {
      const what = offset < end ? 'overlaps the tensor before it' : 'leaves a gap before it';
      throw invalid(
        file,
        `tensor ${name} ${what}: data_offsets begin at ${offset - dataStart}, expected ${end - dataStart}`,
      );
    }
    end = offset + length;
    if (end > fileBytes) {
      const found = `needs bytes up to ${end}, the file has ${fileBytes}`;
      throw invalid(file, `the file is cut short: tensor ${name} ${found}`);
    }
  }
  if (end !== fileBytes) throw invalid(file, `${fileBytes - end} bytes follow the last tensor`);
  return new Map(locations);
}

function parseEntry(name: string, entry: unknown, file: string, dataStart: number): WeightLocation {
  if (!isRecord(entry)) throw invalid(file, `tensor ${name} is described by ${JSON.stringify(entry)}, not an object`);
  const { dtype, shape, data_offsets: offsets } = entry;
  if (!isDtype(dtype)) {
    const supported = Object.keys(BYTES).join(', ');
    if (typeof dtype === 'string' && OTHER_DTYPES.test(dtype)) {
      throw unsupported(file, `dtype ${dtype} of tensor ${name}`, supported);
    }
    throw invalid(file, `tensor ${name} has the unknown dtype ${JSON.stringify(dtype)}, expected ${supported}`);
  }
  if (!isSizes(shape)) throw invalid(file, `tensor ${name} has shape ${JSON.stringify(shape)}, expected sizes >= 0`);
  if (!isSizes(offsets) || offsets.length !== 2 || offsets[0]! > offsets[1]!) {
    const found = JSON.stringify(offsets);
    throw invalid(file, `tensor ${name} has data_offsets ${found}, expected two integers, 0 <= begin <= end`);
  }
  const [begin, end] = offsets as [number, number];
  const expected = shape.reduce((product, size) => product * size, BYTES[dtype]);
  if (end - begin !== expected) {
    const found = `data_offsets [${begin}, ${end}] hold ${end - begin} bytes`;
    throw invalid(file, `tensor ${name}: ${found}, but ${dtype} [${shape}] takes ${expected}`);
  }
  return { file, dtype, shape, offset: dataStart + begin, length: expected };
}

function isDtype(value: unknown): value is WeightDtype {
  return typeof value === 'string' && Object.hasOwn(BYTES, value);
}

function isSizes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

function invalid(file: string, problem: string): RxllmError {
  const message = `${file}: ${problem}. Copy the file again from the model's source, or write it anew if it is your own.`;
  return new RxllmError('RXLLM_MODEL_FILE_INVALID', message);
}
