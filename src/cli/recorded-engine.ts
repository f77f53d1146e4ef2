import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, createWriteStream, openSync, writeSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { Engine, EngineOptions, Model, StagedRecipe } from '../core/contracts/index.ts';
import { type RecordLine, recordedOptions } from '../core/recording/lines.ts';
import { createRandom } from '../core/sampling/random.ts';
import { createEngine, observe } from '../engines/index.ts';
import { record } from '../operators/record.ts';
import type { ModelOptions } from './model-options.ts';
import { CliError } from './report-error.ts';

/**
 * Writes an empty line, which says nothing in a recording, behind what stands in the file: it may be the recording of a
 * server that still runs, and whose port this one finds taken. @throws CliError when it cannot
 */
export function checkRecordable(file: string): void {
  try {
    const open = openSync(file, 'a');
    try {
      writeSync(open, '\n');
    } finally {
      closeSync(open);
    }
  } catch (error) {
    throw notWritable(file, error as Error);
  }
}

export interface RecordedEngineOptions {
  readonly given?: Partial<EngineOptions>;
  /** By what the slots of the recipe were changed already: a replay has to do it again. */
  readonly changedBy?: ModelOptions;
  readonly warn: (message: string) => void;
}

/**
 * An engine that writes its recording to `file`, over what stands there. The first line says how to replay it. When it
 * can no longer be written, say on a full disk, `warn` is told once and the engine goes on without it.
 * @throws CliError when the file cannot be opened
 */
export async function recordedEngine(
  file: string,
  recipe: StagedRecipe,
  model: Model,
  { given = {}, changedBy: { quantize, draftModel } = {}, warn }: RecordedEngineOptions,
): Promise<Engine> {
  const out = createWriteStream(file);
  await once(out, 'open').catch((error: Error) => {
    throw notWritable(file, error);
  });
  out.once('error', ({ message }) => warn(`recording to ${file} has stopped (${message}); serving goes on.`));
  const write = (line: RecordLine) => {
    if (out.writable) out.write(`${JSON.stringify(line)}\n`);
  };
  const seed = randomInt(2 ** 32);
  const engine = await createEngine(observe(recipe, record(write)), model, { ...given, random: createRandom(seed) });
  write({
    type: 'engine',
    engine: recipe.name,
    model: model.directory,
    seed,
    options: recordedOptions(engine.options),
    ...(quantize !== undefined && { quantize }),
    ...(draftModel !== undefined && { draftModel }),
  });
  return {
    ...engine,
    close: async () => {
      await engine.close();
      out.end();
      // What went wrong was told above.
      await finished(out).catch(() => {});
    },
  };
}

function notWritable(file: string, { message }: Error): CliError {
  return new CliError(`cannot write a recording to ${file} (${message}); name another file with --record.`);
}
