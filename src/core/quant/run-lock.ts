import { readFile, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { RxllmError } from '../errors.ts';

/** Stands in the folder while a run writes there, and says the id of its process. */
export const LOCK = 'quantize.lock';

/** The locks of this process: one with its id that is not among them was left by another that had the id before. */
const held = new Set<string>();

/**
 * Keeps other runs out of the folder until the result is called. The lock of a process that has ended is taken over.
 * @throws RxllmError `RXLLM_OPTION_INVALID` where another run has it; any error of the file system
 */
export async function lockRun(out: string): Promise<() => Promise<void>> {
  const path = resolve(out, LOCK);
  const create = () => writeFile(path, `${process.pid}\n`, { flag: 'wx' });
  try {
    await create();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const owner = (await readFile(path, 'utf8').catch(() => '')).trim();
    if (isRunning(owner, path)) throw taken(out, owner);
    await rm(path, { force: true });
    await create().catch(() => {
      throw taken(out, '');
    });
  }
  held.add(path);
  return async () => {
    held.delete(path);
    await rm(path, { force: true });
  };
}

function isRunning(owner: string, path: string): boolean {
  const pid = Number(owner);
  // Who has just made the lock is about to write its id. 0 and below are groups of processes.
  if (!Number.isInteger(pid) || pid <= 0) return true;
  if (pid === process.pid) return held.has(path);
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It runs, but is somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function taken(out: string, owner: string): RxllmError {
  const who = owner === '' ? 'another run' : `another run (process ${owner})`;
  const advice = `wait for it, or choose another folder; if there is no such run any more, remove ${LOCK} from the folder`;
  return new RxllmError('RXLLM_OPTION_INVALID', `out ${out} is being written by ${who}: ${advice}.`, { param: 'out' });
}
