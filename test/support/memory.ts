import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { median } from '../../src/bench/stats.ts';

setFlagsFromString('--expose-gc');
/** A full collection of V8's garbage. */
export const collectGarbage: () => void = runInNewContext('gc');

/** Bytes that a process holds where `alive` of them live in V8's heap: those, and all memory that is not V8's. */
export const heldOf = ({ rss, heapTotal, heapUsed }: NodeJS.MemoryUsage, alive = heapUsed): number =>
  rss - heapTotal + alive;

/** Bytes that this process holds with its garbage collected. */
export function heldMemory(): number {
  collectGarbage();
  return heldOf(process.memoryUsage());
}

/**
 * By how much memory has risen over the last half of the samples, as a share: the median of its last quarter against
 * that of the one before. NaN below four samples.
 */
export function riseOverLastHalf(samples: readonly number[]): number {
  const quarter = Math.floor(samples.length / 4);
  if (quarter === 0) return Number.NaN;
  return median(samples.slice(-quarter)) / median(samples.slice(-2 * quarter, -quarter)) - 1;
}
