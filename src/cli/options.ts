import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { engines, QUANTIZATIONS, type Quantization } from '../engines/index.ts';

export { EMBEDDED_MODEL } from '../embedded-model.ts';

export const DEFAULT_ENGINE = 'kv-cache';

/** Parsers for commander, which puts the option and the value before the message. */
export function integer(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return (text) => {
    const value = Number(text);
    if (/^[+-]?\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Allowed: a whole number ${range}.`);
  };
}

export function number(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Allowed: a number from ${min} to ${max}.`);
  };
}

export function notEmpty(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('Allowed: a text that is not empty.');
}

export function oneOf<T extends string>(...allowed: readonly T[]): (text: string) => T {
  return (text) => {
    const found = allowed.find((value) => value === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Allowed: ${allowed.join(', ')}.`);
  };
}

export function engineName(name: string): string {
  const names = engines.map(({ recipe }) => recipe.name);
  if (names.includes(name)) return name;
  throw new InvalidArgumentError(`Allowed: ${names.join(', ')}.`);
}

export const quantization = oneOf(...(Object.keys(QUANTIZATIONS) as Quantization[]));

export function modelDirectory(path: string): string {
  if (existsSync(join(path, 'config.json'))) return path;
  throw new InvalidArgumentError(
    'Allowed: a folder in Hugging Face layout, with config.json, tokenizer.json and model.safetensors.',
  );
}
