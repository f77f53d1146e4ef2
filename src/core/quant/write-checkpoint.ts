import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Model, QuantizationConfig } from '../contracts/index.ts';
import { readJson } from '../model/read-json.ts';
import { readSafetensorsHeader } from '../model/safetensors.ts';
import { expectedTensors } from '../model/weights.ts';
import { type TensorToWrite, writeSafetensors } from '../model/write-safetensors.ts';
import { readPacked } from './checkpoint-matrix.ts';
import { checkStorable, gptqConfig, gptqTensors, storedAs } from './gptq-format.ts';
import { checkCalibration, linearModules, type Matrices, type QuantMethod, quantizeLayers } from './quantize-layers.ts';
import { readBytes } from './read-tensor.ts';
import { runSettings } from './run-settings.ts';
import type { QuantScheme } from './scheme.ts';
import { beginRun, type UnfinishedRun } from './unfinished-run.ts';

export interface CheckpointOptions {
  readonly scheme: QuantScheme;
  readonly method: QuantMethod;
  readonly onMatrix?: () => void;
  /** A file of an interrupted run is not what that run wrote; its layer is computed again. */
  readonly onDamaged?: (file: string) => void;
}

type Source = Pick<Model, 'directory' | 'config' | 'weights'>;

/**
 * Writes the model with quantized linear layers as a Hugging Face folder in GPTQ's format, a shard a layer. Shards that an
 * earlier run with the same settings has finished are kept.
 * @throws RxllmError `RXLLM_MODEL_UNSUPPORTED`, `RXLLM_OPTION_INVALID` where the folder holds something else or another run
 * writes it
 */
export async function writeCheckpoint(model: Source, out: string, options: CheckpointOptions): Promise<void> {
  checkStorable(model, options.scheme);
  checkCalibration(options.method);
  const run = await beginRun(out, await runSettings(model, options.scheme, options.method));
  try {
    await writeFiles(model, out, run, options);
    await run.finish();
  } finally {
    await run.leave();
  }
}

async function writeFiles(
  model: Source,
  out: string,
  run: UnfinishedRun,
  { scheme, method, onMatrix = () => {}, onDamaged = () => {} }: CheckpointOptions,
): Promise<void> {
  const { layers } = model.config;
  const quantization = storedAs(scheme);
  const shardName = (index: number) => `model-${number(index + 1)}-of-${number(layers + 1)}.safetensors`;
  const map: Record<string, string> = {};

  const kept = new Set<number>();
  const known = async (layer: number): Promise<Matrices | undefined> => {
    const state = await run.find(shardName(layer));
    if (state === 'damaged') onDamaged(shardName(layer));
    if (state !== 'whole') return undefined;
    kept.add(layer);
    return readShard(model, out, shardName(layer), layer, quantization);
  };
  let layer = 0;
  for await (const matrices of quantizeLayers(model, { scheme, method, known, onMatrix })) {
    const tensors = new Map([...matrices].flatMap(([module, matrix]) => gptqTensors(module, matrix, quantization)));
    const shard = shardName(layer);
    if (!kept.has(layer)) {
      await writeSafetensors(out, shard, tensors);
      await run.wrote(shard);
    }
    for (const name of tensors.keys()) map[name] = shard;
    layer += 1;
  }

  const linear = new Set(Array.from({ length: layers }, (_, i) => linearModules(model, i)).flat());
  const rest = [...expectedTensors(model.config).keys()].filter((name) => !linear.has(name.replace(/\.weight$/, '')));
  const floats = rest.map((name): [string, TensorToWrite] => {
    const location = model.weights.get(name)!;
    return [name, { dtype: location.dtype, shape: location.shape, data: readBytes(model.directory, location) }];
  });
  await writeSafetensors(out, shardName(layers), new Map(floats));
  for (const name of rest) map[name] = shardName(layers);
  await writeJson(out, 'model.safetensors.index.json', { metadata: {}, weight_map: map });
  await copyTexts(model.directory, out);
  const config = (await readJson(model.directory, 'config.json')) as object;
  await writeJson(out, 'config.json', { ...config, quantization_config: gptqConfig(quantization, scheme, method) });
}

async function readShard(
  { config }: Pick<Model, 'config'>,
  out: string,
  shard: string,
  layer: number,
  quantization: QuantizationConfig,
): Promise<Matrices> {
  const weights = await readSafetensorsHeader(out, shard);
  const shapes = expectedTensors(config);
  return new Map(
    linearModules({ config }, layer).map((module) => {
      const [rows, columns] = shapes.get(`${module}.weight`) as [number, number];
      return [module, readPacked({ directory: out, weights }, module, { rows, columns }, quantization)];
    }),
  );
}

/** The tokenizer and what else is text, but for what is written anew. */
async function copyTexts(from: string, to: string): Promise<void> {
  const texts = (await readdir(from)).filter((file) => /\.(json|jinja|txt|model)$/.test(file));
  const written = new Set(['config.json', 'model.safetensors.index.json']);
  await Promise.all(
    texts.filter((file) => !written.has(file)).map((file) => copyFile(join(from, file), join(to, file))),
  );
}

const number = (value: number) => String(value).padStart(5, '0');
const writeJson = (directory: string, file: string, value: object) =>
  writeFile(join(directory, file), `${JSON.stringify(value, null, 2)}\n`);
