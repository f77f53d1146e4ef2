import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Copies its own memory each time that it is told to, and says when it is done. */
const COPIER = `
  const { parentPort, workerData: { words, copies } } = require('node:worker_threads');
  const [from, to] = [new Float64Array(words).fill(1), new Float64Array(words)];
  parentPort.on('message', () => {
    for (let i = 0; i < copies; i++) to.set(from);
    parentPort.postMessage(0);
  });
`;
const WORD = Float64Array.BYTES_PER_ELEMENT;
const ROUNDS = 7;
/** One round moves at least so much, so that starting it takes no time in comparison. */
const LEAST_BYTES = 2 ** 28;

export interface CopyOptions {
  readonly threads: number;
  /** Source and target of all threads together. */
  readonly bytes: number;
}

/** Bytes a second that threads move when each copies from one place to another: read and written, the best of some rounds. */
export async function copyBandwidth({ threads, bytes }: CopyOptions): Promise<number> {
  const words = Math.ceil(bytes / threads / 2 / WORD);
  const copies = Math.ceil(LEAST_BYTES / bytes);
  const workers = Array.from(
    { length: threads },
    () => new Worker(COPIER, { eval: true, workerData: { words, copies }, execArgv: [] }),
  );
  try {
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS; round++) {
      const done = workers.map((worker) => once(worker, 'message'));
      const start = performance.now();
      for (const worker of workers) worker.postMessage(0);
      await Promise.all(done);
      // Not the first: the target's pages are given out by the system only when they are written to.
      if (round > 0) best = Math.min(best, performance.now() - start);
    }
    return (1000 * copies * threads * words * 2 * WORD) / best;
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}
