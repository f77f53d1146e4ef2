import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { isUnfinished } from '../core/model/unfinished.ts';
import { engines } from '../engines/index.ts';

export { EMBEDDED_MODEL } from '../embedded-model.ts';

export const DEFAULT_ENGINE = 'kv-cache';

/** Refuses every argument of a command that has options only; `hint` says which option takes its place. */
export function optionsOnly(command: Command, hint: (argument: string) => string): void {
  command.allowExcessArguments().hook('preAction', (_, { args: [argument] }) => {
    if (argument !== undefined) command.error(`error: unexpected argument '${argument}'. ${hint(argument)}`);
  });
}

/** Parsers for commander, which puts the option and the value before the message. */
export function integer(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `of at least ${min}`;
  const allowed = min === Number.MIN_SAFE_INTEGER ? 'between -2^53 and 2^53' : range;
  return (text) => {
    const value = Number(text);
    if (/^[+-]?\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Allowed: a whole number ${allowed}.`);
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

/** An option that may be given several times. */
export function several<T>(parse: (text: string) => T): (text: string, before?: readonly T[]) => readonly T[] {
  return (text, before = []) => [...before, parse(text)];
}

/** Several, or one text with commas, as an environment variable has it. */
export function apiKeys(text: string, before: readonly string[] = []): readonly string[] {
  const keys = text.split(',').map((key) => key.trim());
  if (keys.every((key) => /^[\x21-\x7e]+$/.test(key))) return [...before, ...keys];
  throw new InvalidArgumentError('Allowed: one or more keys of printable ASCII characters, with commas between them.');
}

/** As browsers send it. */
export function corsOrigin(text: string): string {
  if (text === '*' || (URL.canParse(text) && new URL(text).origin === text)) return text;
  throw new InvalidArgumentError('Allowed: an origin such as https://example.com, or * for all.');
}

export function allowedHost(text: string): string {
  if (text === '*' || (URL.canParse(`http://${text}`) && new URL(`http://${text}`).hostname === text.toLowerCase())) {
    return text;
  }
  throw new InvalidArgumentError('Allowed: a name such as models.example, without a port, or * for all.');
}

export const engineName = (name: string): string => knownEngine(name);

/** Several, with commas between them. */
export const engineNames = (text: string): readonly string[] =>
  text.split(',').map((name) => knownEngine(name, ` There is no '${name}'.`));

function knownEngine(name: string, which = ''): string {
  const names = engines.map(({ recipe }) => recipe.name);
  if (names.includes(name)) return name;
  // As it is called in code (`kvCache`, `staticBatch`), or cut short.
  const similar = names.find((known) => letters(name) !== '' && letters(known).startsWith(letters(name)));
  const hint = similar === undefined ? '' : ` Did you mean ${similar}?`;
  throw new InvalidArgumentError(`Allowed: ${names.join(', ')}.${which}${hint}`);
}

const letters = (name: string): string => name.toLowerCase().replaceAll(/[^a-z\d]/g, '');

export function modelDirectory(path: string): string {
  // What an unfinished one lacks is told when it is loaded.
  if (existsSync(join(path, 'config.json')) || isUnfinished(path)) return path;
  const problem = existsSync(path) ? 'This one has no config.json.' : 'This one does not exist.';
  throw new InvalidArgumentError(
    `Allowed: a folder in Hugging Face layout, with config.json, tokenizer.json and model.safetensors. ${problem}`,
  );
}
