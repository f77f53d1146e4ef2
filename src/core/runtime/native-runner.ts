import type { BlockCopy, ForwardBatch, KvPool, Logits, ModelConfig, ModelRunner } from '../contracts/index.ts';
import { NAMES } from '../graph/graph-inputs.ts';
import { bucketWidth } from './bucket-width.ts';
import { checkBatch } from './check-batch.ts';
import { type ForwardInputs, forwardInputs, type InputShape, type Rectangle, tableBlocks } from './forward-inputs.ts';
import { allocatePool, copyBlocks, graphPoolShape, type PoolPart } from './kv-memory.ts';
import { LruCache } from './lru-cache.ts';
import { type Handle, type OrtCApi, ortCApi } from './ort-c-api.ts';
import { Pace } from './pace.ts';
import { PassQueue } from './pass-queue.ts';
import type { ConfigRuntime } from './runtime.ts';
import { type SlotRun, slotRuns } from './slot-runs.ts';
import { maySpin, threadCount } from './thread-count.ts';

export interface NativeOptions {
  /** Default: one a physical core, at most 8; `RXLLM_THREADS` sets another. */
  readonly threads?: number;
  /** Idle threads wait actively for a moment: a third faster in decode. Default true; `RXLLM_SPIN=0` turns it off. */
  readonly spin?: boolean;
  /** Memory of a pass is kept for the next: faster, and the process never shrinks. Default true. */
  readonly arena?: boolean;
  /** ONNX Runtime times each of its ops, which takes time itself. */
  readonly profiling?: OpProfiling;
}

export interface OpProfiling {
  /** What the path of the profile's file begins with. */
  readonly prefix: string;
  /** A run begins. A forward pass is one run, or several where its rows are far apart in memory. */
  onRun(): void;
  /** The runner is disposed, and the events of all runs are in this file. */
  onEnd(file: string): void;
}

/**
 * ONNX Runtime's C API: bindings are kept a shape, the pool is written in place, and passes that would block the event
 * loop for long run on another thread.
 * The slot rejects with RxllmError `RXLLM_RUNTIME_UNAVAILABLE`, `RXLLM_RUNTIME_FAILED` if the graph is refused,
 * `RXLLM_OPTION_INVALID` for its options and for a pool that has no room.
 */
export function native(options: NativeOptions = {}): ConfigRuntime {
  return async (graph, model, pool) => {
    const threads = threadCount(options.threads);
    const api = ortCApi();
    const parts = allocatePool(pool, model.config);
    const session = await api.createSession(await graph.author('in-place'), {
      threads,
      spin: maySpin(options.spin),
      arena: options.arena ?? true,
      weightsDirectory: graph.weightsDirectory,
      ...(options.profiling && { profilePrefix: options.profiling.prefix }),
    });
    return new NativeRunner(api, session, model.config, pool, parts, threads, options.profiling);
  };
}

/** Shapes whose bindings are kept: a few of decode, and the buckets of prompts at each slot. */
const KEPT_SHAPES = 256;

/** One shape's arrays, bound to the session's inputs and outputs. */
interface BoundShape {
  readonly inputs: ForwardInputs;
  readonly logits: Logits;
  readonly binding: Handle;
  readonly tensors: readonly Handle[];
  readonly pace: Pace;
}

class NativeRunner implements ModelRunner {
  readonly config: ModelConfig;
  readonly description: string;
  private readonly api: OrtCApi;
  private readonly session: Handle;
  private readonly pool: KvPool;
  private parts: readonly PoolPart[];
  private readonly passes = new PassQueue<Logits>();
  private readonly shapes: LruCache<BoundShape>;
  private readonly cacheTensors = new Map<string, readonly Handle[]>();
  /** Contiguous: tokens computed a slot. */
  private readonly lengths: number[];
  private readonly profiling: OpProfiling | undefined;
  /** All shapes share it, since only the last pass's logits are valid. */
  private logits = new Float32Array(0);

  constructor(
    api: OrtCApi,
    session: Handle,
    config: ModelConfig,
    pool: KvPool,
    parts: readonly PoolPart[],
    threads: number,
    profiling?: OpProfiling,
  ) {
    this.api = api;
    this.session = session;
    this.config = config;
    this.pool = pool;
    this.parts = parts;
    this.profiling = profiling;
    this.lengths = Array(pool.layout === 'contiguous' ? pool.blocks : 0).fill(0);
    this.shapes = new LruCache(KEPT_SHAPES, (shape) => this.release(shape));
    this.description = `native onnxruntime ${api.version}, ${threads} thread${threads === 1 ? '' : 's'}`;
  }

  forward(batch: ForwardBatch) {
    return this.passes.run(() => {
      checkBatch(batch, this.config, this.pool);
      if (this.pool.layout === 'contiguous') return this.runSlots(batch);
      const blocks = this.pool.layout === 'paged' ? tableBlocks(batch, this.pool.blockSize) : 0;
      const width = bucketWidth(batch.width);
      const logitsAt = batch.logitsAt.map((at) => Math.floor(at / batch.width) * width + (at % batch.width));
      return this.run({ rows: batch.rows, width, wanted: logitsAt.length, blocks }, 0, { ...batch, logitsAt });
    });
  }

  copyBlocks(copies: readonly BlockCopy[]): void {
    copyBlocks(this.parts, copies, this.pool, this.config);
  }

  dispose(): Promise<void> {
    return this.passes.close(() => {
      this.shapes.clear();
      for (const tensors of this.cacheTensors.values()) for (const tensor of tensors) this.api.releaseTensor(tensor);
      this.cacheTensors.clear();
      try {
        this.profiling?.onEnd(this.api.endProfiling(this.session));
      } finally {
        this.api.releaseSession(this.session);
        this.parts = [];
      }
    });
  }

  private runSlots(batch: ForwardBatch): Logits | Promise<Logits> {
    const runs = slotRuns(batch, this.lengths, this.pool.blockSize);
    const only = runs[0];
    if (runs.length === 1 && only !== undefined) return this.runSlotRun(only);
    const { vocab } = this.config;
    const rows = batch.logitsAt.length;
    return this.runInTurn(runs, { rows, vocab, data: new Float32Array(rows * vocab) });
  }

  private runSlotRun(run: SlotRun): Logits | Promise<Logits> {
    const shape = { rows: run.rows, width: run.width, wanted: run.logitsAt.length, blocks: 0 };
    return this.run(shape, run.firstSlot, run);
  }

  /** The runs one after the other, their logits gathered; a promise from the first that does not run at once. */
  private runInTurn(runs: readonly SlotRun[], gathered: Logits): Logits | Promise<Logits> {
    const [run, ...rest] = runs;
    if (run === undefined) return gathered;
    const collect = ({ vocab, data }: Logits) => {
      run.logitsRows.forEach((row, i) => {
        gathered.data.set(data.subarray(i * vocab, (i + 1) * vocab), row * vocab);
      });
      return this.runInTurn(rest, gathered);
    };
    const result = this.runSlotRun(run);
    return result instanceof Promise ? result.then(collect) : collect(result);
  }

  private run(shape: InputShape, firstSlot: number, batch: Rectangle): Logits | Promise<Logits> {
    const { rows, width, wanted, blocks } = shape;
    this.reserveLogits(wanted);
    const bound = this.shapes.get(`${rows} ${width} ${wanted} ${blocks} ${firstSlot}`, () =>
      this.bind(shape, firstSlot),
    );
    bound.inputs.fill(batch);
    const { api, session } = this;
    this.profiling?.onRun();
    const start = performance.now();
    if (bound.pace.isShort) {
      api.run(session, bound.binding);
      bound.pace.ranHere(performance.now() - start);
      return bound.logits;
    }
    return api.runAsync(session, bound.binding).then(() => {
      bound.pace.ranElsewhere(performance.now() - start);
      return bound.logits;
    });
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
    const cache = this.poolTensors(firstSlot, pool.layout === 'contiguous' ? shape.rows : pool.blocks);
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
    return { inputs, logits, binding, tensors, pace: new Pace() };
  }

  /** So many blocks of each part of the pool, from that one on; shapes that span the same ones share them. */
  private poolTensors(firstBlock: number, blocks: number): readonly Handle[] {
    const { api, config, pool } = this;
    const key = `${firstBlock} ${blocks}`;
    let tensors = this.cacheTensors.get(key);
    if (tensors === undefined) {
      const blockLength = config.kvHeads * pool.blockSize * config.headDim;
      tensors = this.parts.map(({ data }) => {
        const memory = data.subarray(firstBlock * blockLength, (firstBlock + blocks) * blockLength);
        return api.createTensor(memory, 'float32', graphPoolShape(pool, config, blocks));
      });
      this.cacheTensors.set(key, tensors);
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
