import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fixtureDirectory } from '../../../test/support/models.ts';
import { loadConfigAndWeights } from '../model/load-model.ts';
import { checkpointMatrix } from './checkpoint-matrix.ts';
import { linearModules, type QuantMethod, quantizeLayers } from './quantize-layers.ts';
import { lockRun } from './run-lock.ts';
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

const scheme = quantScheme({ bits: 4, groupSize: 16 });
const FIRST = 'model-00001-of-00003.safetensors';

/** A folder whose run came to the second layer, and no further. */
async function interrupted(of = model, method = gptq): Promise<string> {
  const out = folder();
  let matrices = 0;
  const onMatrix = () => {
    matrices += 1;
    if (matrices === linearModules(of, 0).length + 2) throw new Error('interrupted');
  };
  await expect(writeCheckpoint(of, out, { scheme, method, onMatrix })).rejects.toThrow('interrupted');
  return out;
}

describe('an interrupted run', async () => {
  const whole = folder();
  await writeCheckpoint(model, whole, { scheme, method: gptq });

  it('goes on where it was, to the same bytes', async () => {
    const out = await interrupted();
    await expect(loadConfigAndWeights(out)).rejects.toThrow('is an unfinished run of `rxllm quantize`');
    const first = statSync(join(out, FIRST)).mtimeMs;
    await writeCheckpoint(model, out, { scheme, method: gptq });
    expect(files(out)).toEqual(files(whole));
    expect(statSync(join(out, FIRST)).mtimeMs).toBe(first);
  });

  it.each<[string, (shard: string) => void, readonly string[]]>([
    ['cut short', (shard) => truncateSync(shard, 1000), [FIRST]],
    ['of other bytes', (shard) => writeFileSync(shard, readFileSync(shard).fill(0, 2000, 2100)), [FIRST]],
    ['gone', (shard) => rmSync(shard), []],
  ])('does a layer again whose file is %s', async (_, damage, told) => {
    const out = await interrupted();
    damage(join(out, FIRST));
    const damaged: string[] = [];
    await writeCheckpoint(model, out, { scheme, method: gptq, onDamaged: (file) => damaged.push(file) });
    expect(damaged).toEqual(told);
    expect(files(out)).toEqual(files(whole));
  });

  it('has a result that follows from more than its options: the text, the weights, the configuration', async () => {
    const copy = folder();
    cpSync(model.directory, copy, { recursive: true });
    const source = await loadConfigAndWeights(copy);
    const out = await interrupted(source);
    const goesOn = (of: typeof model, method: QuantMethod, given = scheme) =>
      writeCheckpoint(of, out, { scheme: given, method });
    const refused = (settings: string) => ({
      code: 'RXLLM_OPTION_INVALID',
      message: expect.stringContaining(`holds an unfinished run with other settings (${settings})`),
    });
    await expect(goesOn(source, { name: 'rtn' })).rejects.toMatchObject(refused('method, actOrder, calibration'));
    await expect(goesOn(source, gptq, quantScheme({ bits: 4, groupSize: 32 }))).rejects.toMatchObject(
      refused('groupSize'),
    );
    await expect(goesOn(source, { ...gptq, windows: windows.slice(1) })).rejects.toMatchObject(refused('calibration'));
    const config = { ...source.config, normEps: 2 * source.config.normEps };
    await expect(goesOn({ ...source, config }, gptq)).rejects.toMatchObject(refused('config'));
    await expect(goesOn(model, gptq)).rejects.toMatchObject(refused('model, weights'));
    // The same header, other numbers.
    const weights = join(copy, 'model.safetensors');
    const bytes = readFileSync(weights);
    writeFileSync(weights, bytes.fill(0, bytes.length - 64));
    await expect(goesOn(await loadConfigAndWeights(copy), gptq)).rejects.toMatchObject(refused('weights'));
  });

  it('is refused where the note of it is damaged', async () => {
    const out = await interrupted();
    truncateSync(join(out, 'quantize-unfinished.json'), 10);
    await expect(writeCheckpoint(model, out, { scheme, method: gptq })).rejects.toThrow(
      'holds an unfinished run whose quantize-unfinished.json is damaged; choose another folder, or empty it',
    );
  });
});

it('leaves a folder alone that another run writes, and gives it back when it ends', async () => {
  const out = folder();
  const rtn = () => writeCheckpoint(model, out, { scheme, method: { name: 'rtn' } });
  const leave = await lockRun(out);
  await expect(rtn()).rejects.toThrow('is being written by another run');
  await leave();
  await rtn();
  expect(readdirSync(out).filter((file) => /lock|partial|unfinished/.test(file))).toEqual([]);
});

it('leaves a folder alone that is not its own, and a model that is quantized already', async () => {
  const out = folder();
  writeFileSync(join(out, 'notes.txt'), '');
  await expect(writeCheckpoint(model, out, { scheme, method: { name: 'rtn' } })).rejects.toThrow('is not empty');
  expect(readdirSync(out)).toEqual(['notes.txt']);
  const done = folder();
  await writeCheckpoint(model, done, { scheme, method: { name: 'rtn' } });
  const again = writeCheckpoint(await loadConfigAndWeights(done), folder(), { scheme, method: { name: 'rtn' } });
  await expect(again).rejects.toThrow('the model is quantized already (gptq, 4 bits)');
});

it.each<QuantMethod>([{ name: 'rtn' }, gptq])('refuses weights that are not numbers: $name', async (method) => {
  const copy = folder();
  cpSync(model.directory, copy, { recursive: true });
  const { file, offset } = model.weights.get('model.layers.0.mlp.down_proj.weight')!;
  const bytes = readFileSync(join(copy, file));
  writeFileSync(join(copy, file), bytes.fill(0xff, offset, offset + 4));
  const written = writeCheckpoint(await loadConfigAndWeights(copy), folder(), { scheme, method });
  await expect(written).rejects.toMatchObject({
    code: 'RXLLM_MODEL_FILE_INVALID',
    message: expect.stringMatching(
      /model\.layers\.0\.mlp\.down_proj has a weight that is NaN|NaN or infinity for the calibration text/,
    ),
  });
});

it.each([[[]], [[[1, 2], []]]])('refuses gptq without a calibration text, and touches nothing: %j', async (none) => {
  const out = folder();
  const written = writeCheckpoint(model, out, { scheme, method: { name: 'gptq', options: {}, windows: none } });
  await expect(written).rejects.toMatchObject({ code: 'RXLLM_OPTION_INVALID', param: 'windows' });
  expect(readdirSync(out)).toEqual([]);
});
