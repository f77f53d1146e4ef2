import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { RxllmError } from '../errors.ts';
import { UNFINISHED } from '../model/unfinished.ts';
import { LOCK, lockRun } from './run-lock.ts';
import { differences, type RunSettings } from './run-settings.ts';

/** What stands in the folder of a run until it is finished: its settings, and the SHA-256 of each shard that is written. */
const noteSchema = Type.Object({
  settings: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  shards: Type.Record(Type.String(), Type.String()),
});
type Note = Static<typeof noteSchema>;

/** A folder that is being written, by this run alone; an interrupted run's shards are kept. */
export interface UnfinishedRun {
  /** Whether an earlier run wrote this shard; `damaged`: it did, and the file is not what it was then. */
  find(shard: string): Promise<'whole' | 'damaged' | 'missing'>;
  /** The shard is written: later runs may keep it. */
  wrote(shard: string): Promise<void>;
  /** Everything is there. */
  finish(): Promise<void>;
  /** Lets others write to the folder. */
  leave(): Promise<void>;
}

/**
 * Begins to write the folder `out`, or goes on.
 * @throws RxllmError `RXLLM_OPTION_INVALID` where it cannot be used, holds something else, or is being written
 */
export async function beginRun(out: string, settings: RunSettings): Promise<UnfinishedRun> {
  const leave = await mkdir(out, { recursive: true })
    .then(() => lockRun(out))
    .catch((error: unknown) => {
      throw error instanceof RxllmError ? error : unusable(out, `cannot be used (${(error as Error).message})`);
    });
  try {
    const note = await takeUp(out, settings);
    await writeNote(out, note);
    return {
      async find(shard) {
        const path = join(out, shard);
        if (note.shards[shard] === undefined || !existsSync(path)) return 'missing';
        return (await digest(path)) === note.shards[shard] ? 'whole' : 'damaged';
      },
      async wrote(shard) {
        note.shards[shard] = await digest(join(out, shard));
        await writeNote(out, note);
      },
      finish: () => rm(join(out, UNFINISHED)),
      leave,
    };
  } catch (error) {
    await leave();
    throw error;
  }
}

/** The note of an earlier run with these settings, or a new one. */
async function takeUp(out: string, settings: RunSettings): Promise<Note> {
  const found = (await readdir(out)).filter((file) => file !== LOCK);
  const fresh: Note = { settings, shards: {} };
  // Nothing is lost with the settings of a run that wrote no layer.
  if (found.every((file) => file.startsWith(UNFINISHED))) return fresh;
  if (!found.includes(UNFINISHED)) throw unusable(out, 'is not empty');
  const note = await readNote(out);
  if (note === undefined) throw unusable(out, `holds an unfinished run whose ${UNFINISHED} is damaged`);
  const others = differences(note.settings, settings);
  if (others.length === 0) return note;
  throw unusable(out, `holds an unfinished run with other settings (${others.join(', ')})`);
}

async function readNote(out: string): Promise<Note | undefined> {
  try {
    const note: unknown = JSON.parse(await readFile(join(out, UNFINISHED), 'utf8'));
    return Value.Check(noteSchema, note) ? note : undefined;
  } catch {
    return undefined;
  }
}

/** Under another name first: what has its name is whole. */
async function writeNote(out: string, note: Note): Promise<void> {
  const partial = join(out, `${UNFINISHED}.partial`);
  await writeFile(partial, `${JSON.stringify(note, null, 2)}\n`);
  await rename(partial, join(out, UNFINISHED));
}

async function digest(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

function unusable(out: string, why: string): RxllmError {
  return new RxllmError('RXLLM_OPTION_INVALID', `out ${out} ${why}; choose another folder, or empty it`, {
    param: 'out',
  });
}
