import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { modelDirectory } from '../../../test/support/models.ts';
import type { Model } from '../contracts/index.ts';
import { loadConfigAndWeights } from '../model/load-model.ts';
import { exportGraph, PREBUILT_FILE, prebuilt } from './prebuilt.ts';

const directory = modelDirectory('storyteller-12m');

it('the embedded model’s file is what an export writes, byte for byte', async () => {
  const exported = await exportGraph(await loadConfigAndWeights(directory));
  const committed = await readFile(join(directory, PREBUILT_FILE));
  expect(Buffer.compare(exported, committed)).toBe(0);
  expect(prebuilt()({ directory, name: 'storyteller-12m' } as Model, 'none').author('returned')).toEqual(committed);
});

it('says how to make the file, and that it has no cache', () => {
  const model = { directory: join(directory, 'nowhere'), name: 'other' } as Model;
  const author = (layout: 'none' | 'paged') => () => prebuilt()(model, layout).author('returned');
  expect(author('none')).toThrow(expect.objectContaining({ code: 'RXLLM_MODEL_FILE_MISSING' }));
  expect(author('none')).toThrow('write it with `rxllm export --model DIR`');
  expect(author('paged')).toThrow(expect.objectContaining({ code: 'RXLLM_RECIPE_INVALID' }));
});
