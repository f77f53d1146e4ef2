import ort from 'onnxruntime-node';
import type { TokenId } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { NAMES } from '../graph/graph-inputs.ts';
import { EMBEDDINGS, type QuantizedWeights } from '../graph/graph-weights.ts';
import type { ModelWeights } from '../graph/llama-graph.ts';
import { HIDDEN_IN, HIDDEN_OUT, llamaLayerGraph } from '../graph/llama-layer-graph.ts';
import type { Edge, OnnxBuilder } from '../graph/onnx-builder.ts';
import { type MatrixSource, quantizedWeights } from '../graph/quantized-weights.ts';
import { stockSession } from '../runtime/stock-session.ts';
import { threadCount } from '../runtime/thread-count.ts';
import { readFloats } from './read-tensor.ts';

/** The residual stream of one window, `[tokens, hidden]`. */
export type HiddenStates = Float32Array;

/** The sum of x xᵀ over the inputs of linear layers, `[columns, columns]`; `modules` have those inputs in common. */
export interface Gram {
  readonly modules: readonly string[];
  readonly columns: number;
  readonly sum: Float64Array;
}

/** What enters layer 0: the embeddings of each window's tokens. */
export function embedWindows(model: ModelWeights, windows: readonly (readonly TokenId[])[]): HiddenStates[] {
  const { hidden } = model.config;
  const table = readFloats(model.directory, model.weights.get(`${EMBEDDINGS}.weight`)!);
  return windows.map((ids) => {
    const states = new Float32Array(ids.length * hidden);
    ids.forEach((id, i) => {
      states.set(table.subarray(id * hidden, (id + 1) * hidden), i * hidden);
    });
    return states;
  });
}

/** One layer over all windows: what leaves it. Modules of which `matrixOf` knows nothing keep their floats. */
export async function runLayer(
  model: ModelWeights,
  layer: number,
  windows: readonly HiddenStates[],
  matrixOf: MatrixSource = () => undefined,
): Promise<HiddenStates[]> {
  const graph = llamaLayerGraph(model, layer, (g) => quantizedWeights(g, 'float', matrixOf));
  const outputs: HiddenStates[] = [];
  await overWindows(graph, model, windows, (results) => outputs.push(results[HIDDEN_OUT]!));
  return outputs;
}

/** The same with the model's floats, and the grams of the inputs of its linear layers. */
export async function captureLayer(
  model: ModelWeights,
  layer: number,
  windows: readonly HiddenStates[],
): Promise<{ readonly outputs: HiddenStates[]; readonly grams: Gram[] }> {
  const captured = new Map<Edge, Gram>();
  const graph = llamaLayerGraph(model, layer, (g) => capture(g, model, captured));
  const outputs: HiddenStates[] = [];
  await overWindows(graph, model, windows, (results) => {
    outputs.push(results[HIDDEN_OUT]!);
    for (const [edge, { sum }] of captured) {
      const part = results[gramName(edge)]!;
      for (let i = 0; i < sum.length; i++) sum[i]! += part[i]!;
    }
  });
  return { outputs, grams: [...captured.values()] };
}

const gramName = (edge: Edge) => `${edge}.gram`;

/** Quantizes nothing, and has the graph give the gram of each edge that a linear layer reads: far less than the edge itself. */
function capture(g: OnnxBuilder, model: ModelWeights, captured: Map<Edge, Gram>): QuantizedWeights {
  return {
    linear(x, modules) {
      const known = captured.get(x);
      const columns = model.weights.get(`${modules[0]}.weight`)!.shape[1]!;
      if (known === undefined) {
        g.output(g.op('Gemm', [x, x], { transA: 1 }, gramName(x)), 'float32', [columns, columns]);
      }
      const sum = known?.sum ?? new Float64Array(columns * columns);
      captured.set(x, { modules: [...(known?.modules ?? []), ...modules], columns, sum });
      return undefined;
    },
    embed: () => undefined,
  };
}

async function overWindows(
  graph: Uint8Array,
  { config, directory }: ModelWeights,
  windows: readonly HiddenStates[],
  onResults: (results: Record<string, Float32Array>) => void,
): Promise<void> {
  let session: ort.InferenceSession | undefined;
  try {
    session = await stockSession(graph, { threads: threadCount(undefined), weightsDirectory: directory });
    for (const states of windows) {
      const tokens = states.length / config.hidden;
      const positions = BigInt64Array.from({ length: tokens }, (_, i) => BigInt(i));
      const results = await session.run({
        [HIDDEN_IN]: new ort.Tensor('float32', states, [tokens, config.hidden]),
        [NAMES.positions]: new ort.Tensor('int64', positions, [1, tokens]),
      });
      onResults(Object.fromEntries(Object.entries(results).map(([name, { data }]) => [name, data as Float32Array])));
    }
  } catch (cause) {
    throw new RxllmError('RXLLM_RUNTIME_FAILED', `ONNX Runtime: ${String(cause)}`, { cause });
  } finally {
    await session?.release();
  }
}
