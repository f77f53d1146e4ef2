import type { WeightDtype, WeightLocation } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import type { Edge, OnnxBuilder } from './onnx-builder.ts';
import { ONNX_DTYPE, type OnnxDtype } from './onnx-schema.ts';

const DTYPE: Record<WeightDtype, OnnxDtype> = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' };

/** A model's weights as edges of a graph. Their bytes stay in the safetensors files. */
export class GraphWeights {
  private readonly g: OnnxBuilder;
  private readonly weights: ReadonlyMap<string, WeightLocation>;
  private readonly edges = new Map<string, Edge>();

  constructor(g: OnnxBuilder, weights: ReadonlyMap<string, WeightLocation>) {
    this.g = g;
    this.weights = weights;
  }

  /** The tensor as float32; the cast of a 16-bit one is folded when the session is made. */
  tensor(name: string): Edge {
    return this.once(name, () => {
      const location = this.weights.get(name);
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
    const inputs = [x, this.joined(modules, 'weight')];
    if (this.weights.has(`${modules[0]}.bias`)) inputs.push(this.joined(modules, 'bias'));
    return this.g.op('Gemm', inputs, { transB: 1 });
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
