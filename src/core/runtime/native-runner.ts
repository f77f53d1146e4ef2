import type { BlockCopy, ForwardBatch, KvPool, Logits, ModelConfig, ModelRunner } from '../contracts/index.ts';
import { BoundShapes } from './bound-shapes.ts';
import { bucketWidth } from './bucket-width.ts';
import { checkBatch } from './check-batch.ts';
import { type InputShape, type Rectangle, tableBlocks } from './forward-inputs.ts';
import { allocatePool, copyBlocks, type PoolPart } from './kv-memory.ts';
import { type Handle, type OrtCApi, ortCApi } from './ort-c-api.ts';
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

class NativeRunner implements ModelRunner {
  readonly config: ModelConfig;
  readonly description: string;
  private readonly api: OrtCApi;
  private readonly session: Handle;
  private readonly pool: KvPool;
  private parts: readonly PoolPart[];
  private readonly passes = new PassQueue<Logits>();
  private readonly shapes: BoundShapes;
  /** Contiguous: tokens computed a slot. */
  private readonly lengths: number[];
  private readonly profiling: OpProfiling | undefined;

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
    this.shapes = new BoundShapes(api, session, config, pool, parts);
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
      this.shapes.dispose();
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
    const bound = this.shapes.get(shape, firstSlot);
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
}
