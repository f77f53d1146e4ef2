import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { fixtureDirectory } from '../../../test/support/models.ts';
import { loadConfigAndWeights } from '../model/load-model.ts';
import { checkpointMatrix } from './checkpoint-matrix.ts';
import { linearModules, type QuantMethod, quantizeLayers } from './quantize-layers.ts';
import { type QuantScheme, quantScheme } from './scheme.ts';
import { writeCheckpoint } from './write-checkpoint.ts';

const folders: string[] = [];
const folder = () => {
  folders.push(mkdtempSync(join(tmpdir(), 'rxllm-quantize-')));
  return folders.at(-1)!;
};
afterAll(() => {
  for (const path of folders) rmSync(path, { recursive: true });
});

const model = await loadConfigAndWeights(fixtureDirectory('llama-mlp-bias'));
const windows = [0, 1, 2].map((window) => Array.from({ length: 40 }, (_, i) => (i * 13 + window * 7) % 500));
const gptq: QuantMethod = { name: 'gptq', options: { actOrder: true }, windows };
const files = (path: string) =>
  Object.fromEntries(readdirSync(path).map((file) => [file, readFileSync(join(path, file))]));

it.each<[QuantMethod, QuantScheme]>([
  [{ name: 'rtn' }, quantScheme({ bits: 4, groupSize: 16 })],
  [{ name: 'rtn' }, quantScheme({ bits: 8, groupSize: 'channel', symmetric: false })],
  [gptq, quantScheme({ bits: 4, groupSize: 32, symmetric: false })],
])('reads back the matrices that were computed: %o', async (method, scheme) => {
  const out = folder();
  await writeCheckpoint(model, out, { scheme, method });
  const written = await loadConfigAndWeights(out);
  let layer = 0;
  for await (const matrices of quantizeLayers(model, { scheme, method })) {
    expect([...matrices.keys()].sort()).toEqual(linearModules(model, layer).sort());
    for (const [module, matrix] of matrices) expect(checkpointMatrix(written, module)).toEqual(matrix);
    layer += 1;
  }
  expect(layer).toBe(model.config.layers);
});

it('goes on where it was interrupted, to the same bytes', async () => {
  const scheme = quantScheme({ bits: 4, groupSize: 16 });
  const [whole, broken] = [folder(), folder()];
  await writeCheckpoint(model, whole, { scheme, method: gptq });
  let matrices = 0;
  const interrupt = () => {
    matrices += 1;
    if (matrices === linearModules(model, 0).length + 2) throw new Error('interrupted');
  };
  await expect(writeCheckpoint(model, broken, { scheme, method: gptq, onMatrix: interrupt })).rejects.toThrow(
    'interrupted',
  );
  const first = files(broken)['model-00001-of-00003.safetensors'];
  await expect(writeCheckpoint(model, broken, { scheme, method: { name: 'rtn' } })).rejects.toMatchObject({
    code: 'RXLLM_OPTION_INVALID',
    message: expect.stringContaining('holds an unfinished run with other settings'),
  });
  await writeCheckpoint(model, broken, { scheme, method: gptq });
  expect(files(broken)).toEqual(files(whole));
  expect(files(broken)['model-00001-of-00003.safetensors']).toEqual(first);
});

it('leaves a folder alone that is not its own, and a model that is quantized already', async () => {
  const out = folder();
  writeFileSync(join(out, 'notes.txt'), '');
  const scheme = quantScheme({ bits: 4, groupSize: 16 });
  await expect(writeCheckpoint(model, out, { scheme, method: { name: 'rtn' } })).rejects.toThrow('is not empty');
  const done = folder();
  await writeCheckpoint(model, done, { scheme, method: { name: 'rtn' } });
  const again = writeCheckpoint(await loadConfigAndWeights(done), folder(), { scheme, method: { name: 'rtn' } });
  await expect(again).rejects.toThrow('the model is quantized already (gptq, 4 bits)');
});
