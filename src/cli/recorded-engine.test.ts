import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { scriptedRecipe } from '../../test/support/scripted-engine.ts';
import { toyModel } from '../../test/support/toy-model.ts';
import { readRecording } from './read-recording.ts';
import { checkRecordable, recordedEngine } from './recorded-engine.ts';
import { CliError } from './report-error.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rxllm-'));
});
afterAll(() => rm(folder, { recursive: true }));

const FULL = '/dev/full';
const start = (file: string, warn: (message: string) => void = (message) => expect.unreachable(message)) =>
  recordedEngine(file, scriptedRecipe().recipe, toyModel, { warn });

it('writes a line for each thing that happened', async () => {
  const file = join(folder, 'recording');
  checkRecordable(file);
  const engine = await start(file);
  await engine.generate('abc', 2);
  await engine.close();
  await engine.close();
  const types = ['engine', 'arrive', 'step', 'step'];
  expect(readRecording(file).map(({ type }) => type)).toEqual(types);
  // A server that does not come to serve leaves it alone, and one that does begins anew.
  checkRecordable(file);
  expect(readRecording(file).map(({ type }) => type)).toEqual(types);
  await (await start(file)).close();
  expect(readRecording(file).map(({ type }) => type)).toEqual(['engine']);
});

it('says what is wrong with a file that it cannot write', async () => {
  for (const file of [folder, join(folder, 'none', 'recording')]) {
    const message = `cannot write a recording to ${file} (`;
    expect(() => checkRecordable(file)).toThrow(CliError);
    expect(() => checkRecordable(file)).toThrow(message);
    await expect(start(file)).rejects.toThrow(message);
  }
});

it.runIf(existsSync(FULL))('goes on without the recording when the disk is full, and says so once', async () => {
  expect(() => checkRecordable(FULL)).toThrow(`cannot write a recording to ${FULL} (ENOSPC`);
  const warnings: string[] = [];
  const engine = await start(FULL, (warning) => warnings.push(warning));
  for (let i = 0; i < 3; i++) expect((await engine.generate('abc', 2)).text).toBe('de');
  await engine.close();
  expect(warnings).toEqual([
    expect.stringMatching(/^recording to \/dev\/full has stopped \(ENOSPC.*\); serving goes on\.$/),
  ]);
});
