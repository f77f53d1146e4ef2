import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { modelDirectory } from '../../test/support/models.ts';
import { loadModel } from '../core/model/load-model.ts';
import { findStages } from '../engines/index.ts';
import { changedSlots, type ModelOptions } from './model-options.ts';
import { EMBEDDED_MODEL } from './options.ts';
import { createProgram } from './program.ts';
import { recordedEngine } from './recorded-engine.ts';
import { CliError } from './report-error.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rxllm-'));
});
afterAll(() => rm(folder, { recursive: true }));

const model = await loadModel(EMBEDDED_MODEL);

/** The file of a recording of one request, as `rxllm serve` makes it with these options. */
async function recording(name: string, engine: string, changedBy: ModelOptions): Promise<string> {
  const file = join(folder, name);
  const recipe = findStages(engine);
  const warn = (message: string) => expect.unreachable(message);
  const changed = { ...recipe, ...changedSlots(recipe, changedBy, model) };
  const recorded = await recordedEngine(file, changed, model, { given: { maxModelLen: 128 }, changedBy, warn });
  await recorded.generate('Once upon a time', 48);
  await recorded.close();
  return file;
}

/** What `rxllm replay` prints. */
async function replay(...args: string[]): Promise<string> {
  const printed: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  try {
    await createProgram().parseAsync(['replay', ...args], { from: 'user' });
  } finally {
    write.mockRestore();
  }
  return printed.join('');
}

it.each<[string, ModelOptions]>([
  ['kv-cache', {}],
  ['kv-cache', { quantize: 'int4' }],
  ['speculative', { draftModel: modelDirectory('storyteller-12m') }],
])('takes the same steps again: %s %o', async (engine, changedBy) => {
  const file = await recording(`${engine}-${Object.keys(changedBy)}`, engine, changedBy);
  expect(await replay(file)).toMatch(/^\d+ steps, identical\n$/);
});

it('says where a recording and its replay part', async () => {
  const file = await recording('changed', 'kv-cache', {});
  const lines = (await readFile(file, 'utf8')).split('\n');
  const second = lines.findIndex((line) => line.startsWith('{"type":"step","index":1,'));
  lines[second] = lines[second]!.replace('"decode",1', '"decode",2');
  await writeFile(file, lines.join('\n'));
  const told = await replay(file).catch((error: unknown) => error);
  expect(told).toBeInstanceOf(CliError);
  expect((told as CliError).message).toMatch(
    /^They part in step 1, number 2 of those that ran\.\nrecorded .*"decode",2/,
  );
});
