import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LOCK, lockRun } from './run-lock.ts';

let out = '';
beforeEach(() => {
  out = mkdtempSync(join(tmpdir(), 'rxllm-lock-'));
});
afterEach(() => rmSync(out, { recursive: true }));

const leaveLock = (text: string) => writeFileSync(join(out, LOCK), text);
const takenBy = (who: string) => ({
  code: 'RXLLM_OPTION_INVALID',
  param: 'out',
  message: expect.stringContaining(`out ${out} is being written by another run${who}: wait for it`),
});

it('keeps a second run out until the first has ended', async () => {
  const leave = await lockRun(out);
  await expect(lockRun(out)).rejects.toMatchObject(takenBy(` (process ${process.pid})`));
  await leave();
  expect(readdirSync(out)).toEqual([]);
  await (await lockRun(out))();
});

it('counts another process while it runs, and one that has not written its id yet', async () => {
  leaveLock(`${process.ppid}\n`);
  await expect(lockRun(out)).rejects.toMatchObject(takenBy(` (process ${process.ppid})`));
  leaveLock('');
  await expect(lockRun(out)).rejects.toMatchObject(takenBy(''));
});

it('takes over what a process left that has ended, or that had the id of this one', async () => {
  const { pid } = spawnSync(process.execPath, ['--version']);
  for (const left of [pid, process.pid]) {
    leaveLock(`${left}\n`);
    const leave = await lockRun(out);
    expect(readFileSync(join(out, LOCK), 'utf8')).toBe(`${process.pid}\n`);
    await leave();
  }
});
