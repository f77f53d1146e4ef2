import { isReady, nextRow, type Policy } from './policy.ts';

export interface StaticBatchingOptions {
  /** Default: `maxNumSeqs`. */
  readonly batchSize?: number;
  /** How long the first of an incomplete batch waits for others, in milliseconds. */
  readonly maxWaitMs?: number;
}

/**
 * A batch is put together, and runs until its last request ends; requests that arrive meanwhile wait for the next (the
 * batching of model servers before Orca, 2022). Prompts run whole, side by side.
 */
export function staticBatching({ batchSize, maxWaitMs = 5 }: StaticBatchingOptions = {}): Policy {
  return (state) => {
    const { now, running, options } = state;
    const row = (sequence: (typeof running)[number]) => nextRow(sequence, state, Number.POSITIVE_INFINITY);
    if (running.length > 0) return { admitted: [], rows: running.filter(isReady).map(row) };
    const size = batchSize ?? options.maxNumSeqs;
    const batch = state.waiting.filter(isReady).slice(0, size);
    const [first] = batch;
    if (first === undefined) return { admitted: [], rows: [] };
    const wakeAt = first.arrivedAt + maxWaitMs;
    if (batch.length < size && now < wakeAt) return { admitted: [], rows: [], wakeAt };
    return { admitted: batch, rows: batch.map(row) };
  };
}
