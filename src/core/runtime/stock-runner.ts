import ort from 'onnxruntime-node';
import type { BlockCopy, ForwardBatch, KvPool, Logits, ModelConfig, ModelRunner } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { NAMES } from '../graph/graph-inputs.ts';
import { checkBatch } from './check-batch.ts';
import { forwardInputs, type InputTensor, type Rectangle, tableBlocks } from './forward-inputs.ts';
import { allocatePool, copyBlocks, graphPoolShape, type PoolPart } from './kv-memory.ts';
import { PassQueue } from './pass-queue.ts';
import type { ConfigRuntime } from './runtime.ts';
import { type SlotRun, slotRuns } from './slot-runs.ts';
import { stockSession } from './stock-session.ts';
import { threadCount } from './thread-count.ts';

export interface StockOptions {
  /** Default: one a physical core, at most 8; `RXLLM_THREADS` sets another. */
  readonly threads?: number;
}

/**
 * onnxruntime-node as it comes. It computes on the thread that calls it, so the event loop stands still for each pass,
 * and it copies every output, so the graph returns new keys and values and JavaScript writes them into the pool.
 * The slot rejects with RxllmError `RXLLM_RUNTIME_FAILED` if the graph is refused, `RXLLM_OPTION_INVALID` for
 * its options and for a pool that has no room.
 */
export function stock(options: StockOptions = {}): ConfigRuntime {
  return async (graph, model, pool) => {
    const threads = threadCount(options.threads);
    const parts = allocatePool(pool, model.config);
    const { weightsDirectory } = graph;
    const session = await stockSession(await graph.author('returned'), { threads, weightsDirectory }).catch(
      (cause: unknown) => {
        throw new RxllmError('RXLLM_RUNTIME_FAILED', `ONNX Runtime: ${String(cause)}`, { cause });
      },
    );
    return new StockRunner(session, model.config, pool, parts, threads);
  };
}

type Outputs = ort.InferenceSession.OnnxValueMapType;

class StockRunner implements ModelRunner {
  readonly config: ModelConfig;
  readonly description: string;
  private readonly session: ort.InferenceSession;
  private readonly pool: KvPool;
  private parts: readonly PoolPart[];
  private readonly passes = new PassQueue<Logits>();
  /** Contiguous: tokens computed a slot. */
  private readonly lengths: number[];

  constructor(
    session: ort.InferenceSession,
    config: ModelConfig,
    pool: KvPool,
    parts: readonly PoolPart[],
    threads: number,
  ) {
    this.session = session;
    this.config = config;
    this.pool = pool;
    this.parts = parts;
    this.lengths = Array(pool.layout === 'contiguous' ? pool.blocks : 0).fill(0);
    this.description = `stock onnxruntime-node ${ort.env.versions.node}, ${threads} thread${threads === 1 ? '' : 's'}`;
  }

  forward(batch: ForwardBatch) {
    return this.passes.run(() => {
      checkBatch(batch, this.config, this.pool);
      if (this.pool.layout === 'contiguous') return this.runSlots(batch);
      return this.runBlocks(batch);
    });
  }

  copyBlocks(copies: readonly BlockCopy[]): void {
    copyBlocks(this.parts, copies, this.pool, this.config);
  }

  dispose(): Promise<void> {
    return this.passes.close(async () => {
      await this.session.release();
      this.parts = [];
    });
  }

  private async runBlocks(batch: ForwardBatch): Promise<Logits> {
    const { pool } = this;
    const blocks = pool.layout === 'paged' ? tableBlocks(batch, pool.blockSize) : 0;
    const outputs = await this.run(batch, batch.rows, batch.width, blocks, 0, pool.blocks);
    if (pool.layout === 'paged') this.writeBlocks(batch, floats(outputs, NAMES.newKv));
    return { rows: batch.logitsAt.length, vocab: this.config.vocab, data: floats(outputs, NAMES.logits) };
  }

  private async runSlots(batch: ForwardBatch): Promise<Logits> {
    const { vocab } = this.config;
    const rows = batch.logitsAt.length;
    const data = new Float32Array(rows * vocab);
    for (const run of slotRuns(batch, this.lengths, this.pool.blockSize)) {
      const outputs = await this.run(run, run.rows, run.width, 0, run.firstSlot, run.rows);
      this.writeSlots(run, outputs);
      const logits = floats(outputs, NAMES.logits);
      run.logitsRows.forEach((row, i) => {
        data.set(logits.subarray(i * vocab, (i + 1) * vocab), row * vocab);
      });
    }
    return { rows, vocab, data };
  }

  private run(
    batch: Rectangle,
    rows: number,
    width: number,
    tableColumns: number,
    firstBlock: number,
    blocks: number,
  ): Promise<Outputs> {
    const { config, pool } = this;
    const shape = { rows, width, wanted: batch.logitsAt.length, blocks: tableColumns };
    const inputs = forwardInputs(shape, config, pool, 'returned');
    inputs.fill(batch);
    const feeds: Record<string, ort.Tensor> = {};
    for (const input of inputs.tensors) feeds[input.name] = tensorOf(input);
    const blockLength = config.kvHeads * pool.blockSize * config.headDim;
    for (const { input, data } of this.parts) {
      const memory = data.subarray(firstBlock * blockLength, (firstBlock + blocks) * blockLength);
      feeds[input] = new ort.Tensor('float32', memory, graphPoolShape(pool, config, blocks));
    }
    return this.session.run(feeds);
  }

  /** `newKv [parts, rows × width, kvHeads, headDim]` into the blocks. */
  private writeBlocks(batch: ForwardBatch, newKv: Float32Array): void {
    const { kvHeads, headDim } = this.config;
    const { blockSize } = this.pool;
    const tokens = batch.rows * batch.width;
    this.parts.forEach(({ data }, part) => {
      batch.ids.forEach((ids, row) => {
        for (let column = 0; column < ids.length; column++) {
          const position = batch.positions[row]! + column;
          const block = batch.blockTables[row]![Math.floor(position / blockSize)]!;
          const token = part * tokens + row * batch.width + column;
          for (let head = 0; head < kvHeads; head++) {
            const from = (token * kvHeads + head) * headDim;
            const to = ((block * kvHeads + head) * blockSize + (position % blockSize)) * headDim;
            data.set(newKv.subarray(from, from + headDim), to);
          }
        }
      });
    });
  }

  /** The new positions of the returned regions into the slots; `slotRuns` says why a dummy's do no harm. */
  private writeSlots(run: SlotRun, outputs: Outputs): void {
    const { kvHeads, headDim } = this.config;
    const { blockSize } = this.pool;
    for (const { output, data } of this.parts) {
      const region = floats(outputs, output);
      run.ids.forEach((ids, row) => {
        for (let head = 0; head < kvHeads; head++) {
          const from = ((row * kvHeads + head) * blockSize + run.positions[row]!) * headDim;
          const to = from + run.firstSlot * kvHeads * blockSize * headDim;
          data.set(region.subarray(from, from + ids.length * headDim), to);
        }
      });
    }
  }
}

function tensorOf({ dtype, data, shape }: InputTensor): ort.Tensor {
  if (dtype === 'int32') return new ort.Tensor('int32', data, shape);
  return new ort.Tensor('int64', new BigInt64Array(data.buffer, data.byteOffset, data.length / 2), shape);
}

function floats(outputs: Outputs, name: string): Float32Array {
  return (outputs[name] as ort.Tensor).data as Float32Array;
}
