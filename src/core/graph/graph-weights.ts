import type { WeightDtype, WeightLocation } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import type { Edge, OnnxBuilder } from './onnx-builder.ts';
import { ONNX_DTYPE, type OnnxDtype } from './onnx-schema.ts';

const DTYPE: Record<WeightDtype, OnnxDtype> = { F32: 'float32', F16: 'float16', BF16: 'bfloat16', I32: 'int32' };

/** Multiplication and lookup by weights that are not floats. Each gives undefined where a module keeps its floats. */
export interface QuantizedWeights {
  linear(x: Edge, modules: readonly string[], output?: Edge): Edge | undefined;
  embed(ids: Edge): Edge | undefined;
}

export const EMBEDDINGS = 'model.embed_tokens';
export const HEAD = 'lm_head';

/** A model's weights as edges of a graph. Their bytes stay in the safetensors files, but for those that are quantized. */
export class GraphWeights {
  private readonly g: OnnxBuilder;
  private readonly weights: ReadonlyMap<string, WeightLocation>;
  private readonly quantized: QuantizedWeights | undefined;
  private readonly edges = new Map<string, Edge>();

  constructor(g: OnnxBuilder, weights: ReadonlyMap<string, WeightLocation>, quantized?: QuantizedWeights) {
    this.g = g;
    this.weights = weights;
    this.quantized = quantized;
  }

  /** The tensor as float32; the cast of a 16-bit one is folded when the session is made. */
  tensor(name: string): Edge {
    return this.once(name, () => {
      const location = this.weights.get(name);
      if (location === undefined && this.weights.has(name.replace(/weight$/, 'qweight'))) {
        const message = `${name} is quantized, and this engine's graph takes floats: use kv-cache or one after it`;
        throw new RxllmError('RXLLM_MODEL_UNSUPPORTED', message);
      }
      if (location === undefined) {
        throw new RxllmError('RXLLM_MODEL_FILE_INVALID', `the model's weights have no tensor ${name}`);
      }
      const stored = this.g.external(name, DTYPE[location.dtype], location.shape, location);
      return location.dtype === 'F32' ? stored : this.g.op('Cast', [stored], { to: ONNX_DTYPE.float32 });
    });
  }

  /**
   * x `[tokens, in]` → `[tokens, out]` through `module.weight [out, in]` and its bias, where it has one. Several modules
   * give their outputs side by side from one multiplication: their weights are joined when the session is made.
   */
  linear(x: Edge, ...modules: readonly string[]): Edge {
    const hasBias = this.weights.has(`${modules[0]}.bias`);
    const product = this.quantized?.linear(x, modules);
    if (product !== undefined) return hasBias ? this.g.op('Add', [product, this.joined(modules, 'bias')]) : product;
    const inputs = [x, this.joined(modules, 'weight')];
    if (hasBias) inputs.push(this.joined(modules, 'bias'));
    return this.g.op('Gemm', inputs, { transB: 1 });
  }

  /** ids `[tokens]` → `[tokens, hidden]` */
  embed(ids: Edge): Edge {
    return this.quantized?.embed(ids) ?? this.g.op('Gather', [this.tensor(`${EMBEDDINGS}.weight`), ids], { axis: 0 });
  }

  /** x `[wanted, hidden]` → the edge `output`, `[wanted, vocab]`. */
  head(x: Edge, tiedEmbeddings: boolean, output: Edge): void {
    const module = tiedEmbeddings ? EMBEDDINGS : HEAD;
    if (this.quantized?.linear(x, [module], output) !== undefined) return;
    this.g.op('Gemm', [x, this.tensor(`${module}.weight`)], { transB: 1 }, output);
  }

  private joined(modules: readonly string[], part: 'weight' | 'bias'): Edge {
    const names = modules.map((module) => `${module}.${part}`);
    if (names.length === 1) return this.tensor(names[0]!);
    return this.once(names.join('+'), () =>
      this.g.op(
        'Concat',
        names.map((name) => this.tensor(name)),
        { axis: 0 },
      ),
    );
  }

  private once(key: string, make: () => Edge): Edge {
    const edge = this.edges.get(key) ?? make();
    this.edges.set(key, edge);
    return edge;
  }
}
