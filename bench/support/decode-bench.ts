import { firstValueFrom } from 'rxjs';
import type { ForwardBatch, KvLayout, KvPool, ModelRunner } from '../../src/core/contracts/index.ts';
import { llama } from '../../src/core/graph/llama-graph.ts';
import { loadConfigAndWeights } from '../../src/core/model/load-model.ts';
import { native } from '../../src/core/runtime/native-runner.ts';

const BLOCK_SIZE = 16;
const PREFILL_CHUNK = 256;

export interface DecodeSettings {
  readonly directory: string;
  readonly layout: KvLayout;
  readonly batch: number;
  /** Tokens in the cache at each step. */
  readonly context: number;
  /** Tokens that the pool has room for; default: what the batch needs. */
  readonly poolTokens?: number;
}

/** A runner whose rows hold `context` tokens each, and which decodes the next one over and over. */
export class DecodeBench {
  readonly runner: ModelRunner;
  private readonly batch: ForwardBatch;

  private constructor(runner: ModelRunner, batch: ForwardBatch) {
    this.runner = runner;
    this.batch = batch;
  }

  static async start({ directory, layout, batch, context, poolTokens = 0 }: DecodeSettings): Promise<DecodeBench> {
    const model = await loadConfigAndWeights(directory);
    const rowBlocks = Math.ceil((context + 1) / BLOCK_SIZE);
    const pool: KvPool =
      layout === 'paged'
        ? { layout, blocks: Math.max(1 + batch * rowBlocks, poolTokens / BLOCK_SIZE), blockSize: BLOCK_SIZE }
        : { layout, blocks: batch, blockSize: Math.max(rowBlocks * BLOCK_SIZE, poolTokens / batch) };
    const runner = await native()(llama()(model, layout), model, pool);
    const table = (row: number) =>
      layout === 'paged' ? Array.from({ length: rowBlocks }, (_, i) => 1 + i * batch + row) : [row];
    const ids = Array.from({ length: context }, (_, i) => (i * 37 + 50) % model.config.vocab);
    for (let row = 0; row < batch; row++) {
      for (let at = 0; at < context; at += PREFILL_CHUNK) {
        const chunk = ids.slice(at, at + PREFILL_CHUNK);
        const one = { rows: 1, width: chunk.length, ids: [chunk], positions: [at], blockTables: [table(row)] };
        await firstValueFrom(runner.forward({ ...one, logitsAt: [] }));
      }
    }
    const rows = Array.from({ length: batch }, (_, row) => row);
    const decode: ForwardBatch = {
      rows: batch,
      width: 1,
      ids: rows.map((row) => [100 + row]),
      positions: rows.map(() => context),
      blockTables: rows.map(table),
      logitsAt: rows,
    };
    const bench = new DecodeBench(runner, decode);
    await bench.steps(10);
    return bench;
  }

  /** Milliseconds of each. */
  async steps(count: number): Promise<number[]> {
    const times: number[] = [];
    for (let i = 0; i < count; i++) {
      const start = performance.now();
      await new Promise<void>((resolve, reject) => {
        this.runner.forward(this.batch).subscribe({ error: reject, complete: resolve });
      });
      times.push(performance.now() - start);
    }
    return times;
  }
}
