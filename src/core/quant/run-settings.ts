import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Model } from '../contracts/index.ts';
import type { QuantMethod } from './quantize-layers.ts';
import type { QuantScheme } from './scheme.ts';

/** All that a run's result follows from, by name; one with other settings must not go on with its layers. */
export type RunSettings = Readonly<Record<string, string | number | boolean>>;

/**
 * The weights are known by their headers and their files' sizes and times, without reading them; the calibration text by
 * its tokens.
 */
export async function runSettings(
  { directory, config, weights }: Pick<Model, 'directory' | 'config' | 'weights'>,
  scheme: QuantScheme,
  method: QuantMethod,
): Promise<RunSettings> {
  const files = [...new Set([...weights.values()].map(({ file }) => file))];
  const stamps = await Promise.all(
    files.map(async (file) => {
      const { size, mtimeMs } = await stat(join(directory, file));
      return [file, size, mtimeMs];
    }),
  );
  return {
    ...scheme,
    method: method.name,
    ...(method.name === 'gptq' && { ...method.options, calibration: hash(method.windows) }),
    model: directory,
    config: hash(config),
    weights: hash([[...weights], stamps]),
  };
}

/** The names of what differs between two runs. */
export function differences(before: RunSettings, now: RunSettings): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].filter((name) => before[name] !== now[name]);
}

const hash = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');
