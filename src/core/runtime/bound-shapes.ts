import type { KvPool, Logits, ModelConfig } from '../contracts/index.ts';
import { NAMES } from '../graph/graph-inputs.ts';
import { type ForwardInputs, forwardInputs, type InputShape } from './forward-inputs.ts';
import { graphPoolShape, type PoolPart } from './kv-memory.ts';
import { LruCache } from './lru-cache.ts';
import type { Handle, OrtCApi } from './ort-c-api.ts';
import { Pace } from './pace.ts';

/** Shapes whose bindings are kept: a few of decode, and the buckets of prompts at each slot. */
const KEPT_SHAPES = 256;

/** One shape's arrays, bound to the session's inputs and outputs. */
export interface BoundShape {
  readonly inputs: ForwardInputs;
  readonly logits: Logits;
  readonly binding: Handle;
  readonly tensors: readonly Handle[];
  readonly pace: Pace;
}

/** The memory that a session's passes read and write, bound to it once a shape: inputs, logits, and the pool in place. */
export class BoundShapes {
  private readonly api: OrtCApi;
  private readonly session: Handle;
  private readonly config: ModelConfig;
  private readonly pool: KvPool;
  private parts: readonly PoolPart[];
  private readonly shapes: LruCache<BoundShape>;
  private readonly poolTensors = new Map<string, readonly Handle[]>();
  /** All shapes share it, since only the last pass's logits are valid. */
  private logits = new Float32Array(0);

  constructor(api: OrtCApi, session: Handle, config: ModelConfig, pool: KvPool, parts: readonly PoolPart[]) {
    this.api = api;
    this.session = session;
    this.config = config;
    this.pool = pool;
    this.parts = parts;
    this.shapes = new LruCache(KEPT_SHAPES, (shape) => this.release(shape));
  }

  /** `firstSlot`: under `contiguous`, where the rows lie in the pool. */
  get(shape: InputShape, firstSlot: number): BoundShape {
    const { rows, width, wanted, blocks } = shape;
    this.reserveLogits(wanted);
    return this.shapes.get(`${rows} ${width} ${wanted} ${blocks} ${firstSlot}`, () => this.bind(shape, firstSlot));
  }

  /** Before the session is released. */
  dispose(): void {
    this.shapes.clear();
    for (const tensors of this.poolTensors.values()) for (const tensor of tensors) this.api.releaseTensor(tensor);
    this.poolTensors.clear();
    this.parts = [];
  }

  private bind(shape: InputShape, firstSlot: number): BoundShape {
    const { api, config, pool } = this;
    const inputs = forwardInputs(shape, config, pool, 'in-place');
    const binding = api.createBinding(this.session);
    const tensors: Handle[] = [];
    const keep = (tensor: Handle) => {
      tensors.push(tensor);
      return tensor;
    };
    for (const { name, data, dtype, shape: dims } of inputs.tensors) {
      api.bindInput(binding, name, keep(api.createTensor(data, dtype, dims)));
    }
    const cache = this.poolTensorsOf(firstSlot, pool.layout === 'contiguous' ? shape.rows : pool.blocks);
    this.parts.forEach(({ input, output }, part) => {
      api.bindInput(binding, input, cache[part]!);
      api.bindOutput(binding, output, cache[part]!);
    });
    const logits = {
      rows: shape.wanted,
      vocab: config.vocab,
      data: this.logits.subarray(0, shape.wanted * config.vocab),
    };
    const logitsTensor = keep(api.createTensor(logits.data, 'float32', [logits.rows, logits.vocab]));
    api.bindOutput(binding, NAMES.logits, logitsTensor);
    return { inputs, logits, binding, tensors, pace: new Pace(shape.rows) };
  }

  /** So many blocks of each part of the pool, from that one on; shapes that span the same ones share them. */
  private poolTensorsOf(firstBlock: number, blocks: number): readonly Handle[] {
    const { api, config, pool } = this;
    const key = `${firstBlock} ${blocks}`;
    let tensors = this.poolTensors.get(key);
    if (tensors === undefined) {
      const blockLength = config.kvHeads * pool.blockSize * config.headDim;
      tensors = this.parts.map(({ data }) => {
        const memory = data.subarray(firstBlock * blockLength, (firstBlock + blocks) * blockLength);
        return api.createTensor(memory, 'float32', graphPoolShape(pool, config, blocks));
      });
      this.poolTensors.set(key, tensors);
    }
    return tensors;
  }

  /** Bindings point into the old memory, so they go with it; doubling makes that rare. */
  private reserveLogits(wanted: number): void {
    const needed = wanted * this.config.vocab;
    if (needed <= this.logits.length) return;
    this.shapes.clear();
    this.logits = new Float32Array(Math.max(needed, 2 * this.logits.length));
  }

  private release({ binding, tensors }: BoundShape): void {
    this.api.releaseBinding(binding);
    for (const tensor of tensors) this.api.releaseTensor(tensor);
  }
}
