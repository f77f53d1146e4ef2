import type { TokenId } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import type { ModelWeights } from '../graph/llama-graph.ts';
import { expectedTensors } from '../model/weights.ts';
import { type GptqOptions, gptq, gptqInputs } from './gptq.ts';
import { captureLayer, embedWindows, type HiddenStates, runLayer } from './layer-runner.ts';
import type { QuantizedMatrix } from './quantized-matrix.ts';
import { readFloats } from './read-tensor.ts';
import { roundToNearest } from './round-to-nearest.ts';
import type { QuantScheme } from './scheme.ts';

export type Matrices = ReadonlyMap<string, QuantizedMatrix>;

export type QuantMethod =
  | { readonly name: 'rtn' }
  | {
      readonly name: 'gptq';
      readonly options: GptqOptions;
      /** Token windows of the calibration text. */
      readonly windows: readonly (readonly TokenId[])[];
    };

export interface QuantizeLayersOptions {
  readonly scheme: QuantScheme;
  readonly method: QuantMethod;
  /** A layer's matrices from an earlier run, which are then taken as they are. */
  readonly known?: (layer: number) => Promise<Matrices | undefined>;
  readonly onMatrix?: () => void;
}

/**
 * Inputs that are never seen count for nothing: without a text all weights would become 0.
 * @throws RxllmError `RXLLM_OPTION_INVALID`
 */
export function checkCalibration(method: QuantMethod): void {
  if (method.name !== 'gptq' || (method.windows.length > 0 && method.windows.every(({ length }) => length > 0))) return;
  const message = 'windows: gptq needs a calibration text, and none of its windows may be empty';
  throw new RxllmError('RXLLM_OPTION_INVALID', message, { param: 'windows' });
}

/** The linear layers of one decoder layer, by the names of their modules. */
export function linearModules(model: Pick<ModelWeights, 'config'>, layer: number): string[] {
  return [...expectedTensors(model.config)]
    .filter(([name, shape]) => name.startsWith(`model.layers.${layer}.`) && shape.length === 2)
    .map(([name]) => name.replace(/\.weight$/, ''));
}

/**
 * Layer by layer, in order: GPTQ's inputs of a layer are those that the layers before it give once they are quantized, so
 * that each also makes up for the ones before. Only one layer's matrices are in memory at a time.
 * @throws RxllmError `RXLLM_MODEL_FILE_INVALID` for weights that are not finite
 */
export async function* quantizeLayers(
  model: ModelWeights,
  { scheme, method, known = async () => undefined, onMatrix = () => {} }: QuantizeLayersOptions,
): AsyncGenerator<Matrices> {
  let states: HiddenStates[] = method.name === 'gptq' ? embedWindows(model, method.windows) : [];
  for (let layer = 0; layer < model.config.layers; layer++) {
    let matrices = await known(layer);
    if (matrices === undefined) {
      const quantized = new Map<string, QuantizedMatrix>();
      for await (const [module, matrix] of quantizeLayer(model, layer, states, scheme, method)) {
        quantized.set(module, matrix);
        onMatrix();
      }
      matrices = quantized;
    } else for (const _ of matrices) onMatrix();
    yield matrices;
    if (method.name === 'gptq') states = await runLayer(model, layer, states, (module) => matrices.get(module));
  }
}

/** Of float16, in which scales are stored. */
const LARGEST = 65504;
const isSmall = (weight: number) => Math.abs(weight) <= LARGEST;

async function* quantizeLayer(
  model: ModelWeights,
  layer: number,
  states: readonly HiddenStates[],
  scheme: QuantScheme,
  method: QuantMethod,
): AsyncGenerator<readonly [string, QuantizedMatrix]> {
  const weightsOf = (module: string) => {
    const location = model.weights.get(`${module}.weight`)!;
    const [rows, columns] = location.shape as [number, number];
    const weights = readFloats(model.directory, location);
    if (!weights.every(isSmall)) {
      const message = `${location.file}: ${module} has a weight that is NaN or above ${LARGEST}, which cannot be quantized`;
      throw new RxllmError('RXLLM_MODEL_FILE_INVALID', message);
    }
    return { rows, columns, weights };
  };
  if (method.name === 'rtn') {
    for (const module of linearModules(model, layer)) {
      const { weights, rows, columns } = weightsOf(module);
      yield [module, roundToNearest(weights, rows, columns, scheme)];
    }
    return;
  }
  const { grams } = await captureLayer(model, layer, states);
  for (const { modules, columns, sum } of grams) {
    const inputs = gptqInputs(sum, columns, method.options);
    for (const module of modules) {
      const { weights, rows } = weightsOf(module);
      yield [module, gptq(weights, rows, inputs, scheme)];
    }
  }
}
