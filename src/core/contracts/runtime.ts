import type { Observable } from 'rxjs';
import type { BlockCopy, BlockId, KvPool } from './memory.ts';
import type { GraphSource, Model, ModelConfig } from './model.ts';
import type { TokenId } from './request.ts';

/** stock, native, or native with stock as the fallback. */
export type RuntimeSlot = (graph: GraphSource, model: Model, pool: KvPool) => Promise<ModelRunner>;

/** A rectangle of tokens `[rows, width]`, right-padded. */
export interface ForwardBatch {
  readonly rows: number;
  readonly width: number;
  /** The new tokens of each row, at most `width` of them. */
  readonly ids: readonly (readonly TokenId[])[];
  /** Position of each row's first new token; all before it are in the cache. */
  readonly positions: readonly number[];
  readonly blockTables: readonly (readonly BlockId[])[];
  /** Flat indices (row × width + column) whose logits are wanted, in ascending order. May be empty. */
  readonly logitsAt: readonly number[];
}

/** `[rows, vocab]`, a row for each of `logitsAt`. Valid until the runner's next forward pass: copy what must outlive it. */
export interface Logits {
  readonly rows: number;
  readonly vocab: number;
  readonly data: Float32Array;
}

export interface ModelRunner {
  readonly config: ModelConfig;
  /** What runs underneath, for people to read: `native onnxruntime 1.30.0, 2 threads`. */
  readonly description: string;
  /**
   * Cold; emits once, during the call to subscribe where the pass is short, and completes. One pass runs at a time: a
   * second waits for the first. Unsubscribing lets the running pass finish and drops its result.
   * @throws RxllmError `RXLLM_RUNTIME_FAILED` as an error notification.
   */
  forward(batch: ForwardBatch): Observable<Logits>;
  /** Copies blocks of a paged pool, one after the other. Only between forward passes. */
  copyBlocks(copies: readonly BlockCopy[]): void;
  /** Waits for a running pass, then frees the session and the pool. A forward after it errors. Idempotent. */
  dispose(): Promise<void>;
}
