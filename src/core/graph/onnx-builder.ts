import {
  type Attribute,
  attributeMessage,
  type Dim,
  type ExternalData,
  externalTensor,
  MICROSOFT,
  modelBytes,
  tensorMessage,
  valueInfo,
} from './onnx-messages.ts';
import type { GraphMessage, NodeMessage, OnnxDtype, TensorMessage, ValueInfoMessage } from './onnx-schema.ts';

/** The name of a value in the graph: an input, an initializer or an op's output; `''` is an input that is left out. */
export type Edge = string;

/** What one turn of a loop makes; float32. */
export interface LoopTurn {
  readonly state: readonly Edge[];
  readonly collected?: readonly Edge[];
}

/** Writes an ONNX model op by op. Each method adds to the graph and returns the edge to use further on. */
export class OnnxBuilder {
  /** Of the graph, or of the loop's body that is being written. */
  private nodes: NodeMessage[] = [];
  /** Of the body that is being written: names are unique across all of them. */
  private scope = '';
  private readonly initializers: TensorMessage[] = [];
  private readonly inputs: ValueInfoMessage[] = [];
  private readonly outputs: ValueInfoMessage[] = [];
  private readonly constants = new Map<string, Edge>();

  input(name: string, dtype: OnnxDtype, dims: readonly Dim[]): Edge {
    this.inputs.push(valueInfo(name, dtype, dims));
    return name;
  }

  /** Declares that the edge of this name, made by some op, leaves the graph; without `dims`, in whatever shape. */
  output(name: string, dtype: OnnxDtype, dims?: readonly Dim[]): void {
    this.outputs.push(valueInfo(name, dtype, dims));
  }

  /** A constant `[values.length]`, or a scalar `[]`. Equal ones are stored once. */
  int64(values: readonly number[] | number): Edge {
    const list = typeof values === 'number' ? [values] : values;
    return this.constant('int64', typeof values === 'number' ? [] : [list.length], BigInt64Array.from(list, BigInt));
  }

  float32(value: number): Edge {
    return this.constant('float32', [], Float32Array.of(value));
  }

  /** An initializer inside the model, of its array's dtype. */
  tensor(name: string, dims: readonly number[], data: Float32Array | Uint8Array | Int8Array): Edge {
    const dtype = data instanceof Float32Array ? 'float32' : data instanceof Int8Array ? 'int8' : 'uint8';
    this.initializers.push(tensorMessage(name, dtype, dims, data));
    return name;
  }

  /** An initializer whose bytes stay in their file. */
  external(name: string, dtype: OnnxDtype, dims: readonly number[], data: ExternalData): Edge {
    this.initializers.push(externalTensor(name, dtype, dims, data));
    return name;
  }

  /** An op of ONNX with one output, which is named `output` where that matters. */
  op(
    opType: string,
    inputs: readonly Edge[],
    attributes: Readonly<Record<string, Attribute>> = {},
    output?: Edge,
  ): Edge {
    const name = output ?? this.freshName(opType);
    this.node('', opType, inputs, [name], attributes);
    return name;
  }

  /** An op of ONNX with several outputs. */
  ops(
    opType: string,
    inputs: readonly Edge[],
    attributes: Readonly<Record<string, Attribute>>,
    outputs: readonly Edge[],
  ): void {
    this.node('', opType, inputs, outputs, attributes);
  }

  /** One of ONNX Runtime's own ops (domain com.microsoft). */
  microsoftOp(opType: string, inputs: readonly Edge[], attributes: Readonly<Record<string, Attribute>> = {}): Edge {
    const name = this.freshName(opType);
    this.node(MICROSOFT, opType, inputs, [name], attributes);
    return name;
  }

  microsoftOps(
    opType: string,
    inputs: readonly Edge[],
    attributes: Readonly<Record<string, Attribute>>,
    outputs: readonly Edge[],
  ): void {
    this.node(MICROSOFT, opType, inputs, outputs, attributes);
  }

  /**
   * Runs `body` `trips` times (int64, a scalar). `state` goes in and what the body makes of it into the next turn; the last
   * is returned, followed by the `collected` of all turns, each stacked along a new first axis. `turn` counts from 0. The
   * body may use any edge from outside of it.
   */
  loop(
    trips: Edge,
    state: readonly Edge[],
    body: (turn: Edge, ...state: readonly Edge[]) => LoopTurn,
  ): readonly Edge[] {
    const { nodes, scope } = this;
    this.scope = `${scope}${nodes.length}.`;
    this.nodes = [];
    const [turn, goOn] = [this.freshName('turn'), this.freshName('go_on')];
    const before = state.map((_, index) => this.freshName(`state${index}`));
    const { state: after, collected = [] } = body(turn, ...before);
    const always = this.op('Identity', [goOn]);
    const graph: GraphMessage = {
      name: this.freshName('body'),
      node: this.nodes,
      initializer: [],
      input: [
        valueInfo(turn, 'int64', []),
        valueInfo(goOn, 'bool', []),
        ...before.map((edge) => valueInfo(edge, 'float32')),
      ],
      output: [valueInfo(always, 'bool', []), ...[...after, ...collected].map((edge) => valueInfo(edge, 'float32'))],
    };
    this.scope = scope;
    this.nodes = nodes;
    const outputs = [...after, ...collected].map((_, index) => this.freshName(`loop${index}`));
    this.node('', 'Loop', [trips, '', ...state], outputs, { body: { graph } });
    return outputs;
  }

  freshName(prefix: string): Edge {
    return `${prefix}_${this.scope}${this.nodes.length}`;
  }

  /** @throws RxllmError `RXLLM_MODEL_UNSUPPORTED` when more bytes lie inside the model than its format can hold */
  build(name: string): Uint8Array {
    return modelBytes({
      name,
      node: this.nodes,
      initializer: this.initializers,
      input: this.inputs,
      output: this.outputs,
    });
  }

  private constant(dtype: OnnxDtype, dims: readonly number[], data: BigInt64Array | Float32Array): Edge {
    const key = `${dtype}[${dims}]=${data.join(',')}`;
    const known = this.constants.get(key);
    if (known !== undefined) return known;
    this.initializers.push(tensorMessage(key, dtype, dims, data));
    this.constants.set(key, key);
    return key;
  }

  private node(
    domain: string,
    opType: string,
    input: readonly Edge[],
    output: readonly Edge[],
    attributes: Readonly<Record<string, Attribute>>,
  ): void {
    const attribute = Object.entries(attributes).map(([name, value]) => attributeMessage(name, value));
    this.nodes.push({ domain, opType, input, output, name: `${opType}_${this.scope}${this.nodes.length}`, attribute });
  }
}
