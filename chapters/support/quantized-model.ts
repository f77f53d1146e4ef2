import { readFileSync } from 'node:fs';
import { evaluation, loadModel, type Model, quant } from 'rxllm';
import { args, size } from './args.ts';

const text = (name: string) => readFileSync(new URL(`../../models/eval/${name}`, import.meta.url), 'utf8');
export const WINDOW = size(512, 64);

/** Windows of a text for quantization: of those that GPTQ learns from, or of those that it is judged by. */
export async function windowsFrom(name: 'stories-calibration.txt' | 'stories-eval.txt', model: Model) {
  const ids = model.tokenizer.encode(text(name), { addSpecialTokens: false });
  return evaluation.windowsOf(args.quick ? ids.slice(0, 4 * WINDOW) : ids, WINDOW);
}

export const model = await loadModel(args.model);

export function weightsOf(module: string): Float32Array {
  return quant.readFloats(model.directory, model.weights.get(`${module}.weight`)!);
}

/** All matrices of the model by one method. */
export async function quantizeAll(scheme: quant.QuantScheme, method: quant.QuantMethod): Promise<quant.Matrices> {
  const all = new Map<string, quant.QuantizedMatrix>();
  for await (const matrices of quant.quantizeLayers(model, { scheme, method })) {
    for (const [module, matrix] of matrices) all.set(module, matrix);
  }
  return all;
}

/** The inputs of each linear layer over a text, as the float model has them. */
export async function gramsOf(windows: readonly (readonly number[])[]): Promise<Map<string, quant.Gram>> {
  const grams = new Map<string, quant.Gram>();
  let states = quant.embedWindows(model, windows);
  for (let layer = 0; layer < model.config.layers; layer++) {
    const captured = await quant.captureLayer(model, layer, states);
    states = captured.outputs;
    for (const gram of captured.grams) for (const module of gram.modules) grams.set(module, gram);
  }
  return grams;
}
