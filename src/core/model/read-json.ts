import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Static, TSchema } from 'typebox';
import Value from 'typebox/value';
import { RxllmError } from '../errors.ts';
import { isRecord } from '../is-record.ts';
import { fileMissing, isMissing } from './model-errors.ts';

/** The text of `directory/file`, or undefined when there is no such file. @throws RxllmError `RXLLM_MODEL_FILE_INVALID` */
export async function readTextIfPresent(directory: string, file: string): Promise<string | undefined> {
  try {
    return await readFile(join(directory, file), 'utf8');
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw new RxllmError('RXLLM_MODEL_FILE_INVALID', `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** @throws RxllmError `RXLLM_MODEL_FILE_INVALID` when the file is not JSON. */
export async function readJsonIfPresent(directory: string, file: string): Promise<unknown> {
  const text = await readTextIfPresent(directory, file);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = `${file} is not JSON (${(cause as Error).message}): copy it again from the model's source.`;
    throw new RxllmError('RXLLM_MODEL_FILE_INVALID', message, { cause });
  }
}

/** @throws RxllmError `RXLLM_MODEL_FILE_MISSING`, `RXLLM_MODEL_FILE_INVALID` */
export async function readJson(directory: string, file: string): Promise<unknown> {
  const json = await readJsonIfPresent(directory, file);
  if (json === undefined) throw fileMissing(directory, file);
  return json;
}

/**
 * `json` as the schema's type; a field that is null counts as absent, as in transformers.
 * @throws RxllmError `RXLLM_MODEL_FILE_INVALID` naming the file, the field, what it must be and what it is.
 */
export function checkJson<T extends TSchema>(schema: T, json: unknown, file: string): Static<T> {
  const value = withoutNulls(json);
  const [error] = Value.Errors(schema, value);
  if (error === undefined) return value as Static<T>;
  const field =
    error.keyword === 'required'
      ? `/${error.params.requiredProperties[0]}`
      : error.instancePath === ''
        ? '(top level)'
        : error.instancePath;
  const problem =
    error.keyword === 'required' ? 'is missing' : `${error.message}, found ${preview(at(value, error.instancePath))}`;
  throw new RxllmError(
    'RXLLM_MODEL_FILE_INVALID',
    `${file}: ${field.replace(/^\//, '').replaceAll('/', '.')} ${problem}`,
  );
}

function withoutNulls(json: unknown): unknown {
  if (!isRecord(json)) return json;
  const entries = Object.entries(json).filter(([, value]) => value !== null);
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutNulls(value)]));
}

function at(json: unknown, pointer: string): unknown {
  const keys = pointer.split('/').slice(1);
  return keys.reduce((value, key) => (value as Record<string, unknown> | undefined)?.[key], json);
}

function preview(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
