import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** A full collection of V8's garbage. */
export const collectGarbage: () => void = runInNewContext('gc');

/** Bytes that this process holds with its garbage collected: what lives in V8's heap, and all memory that is not V8's. */
export function heldMemory(): number {
  collectGarbage();
  const { rss, heapTotal, heapUsed } = process.memoryUsage();
  return rss - heapTotal + heapUsed;
}
