import type { EngineContext, Sequence } from '../contracts/index.ts';

/**
 * Takes a sequence out before its end: `cancel` where nobody listens any more, `abort` where its reader is told. Out of
 * the queue at once, with its blocks; out of the batch with the next {@link sweep}, for a forward pass may be using them.
 * Returns whether it is out.
 */
export function withdraw(
  sequence: Sequence,
  how: 'cancel' | 'abort',
  { waiting, kv }: Pick<EngineContext, 'waiting' | 'kv'>,
): boolean {
  if (how === 'abort') sequence.finish ??= 'abort';
  const at = waiting.indexOf(sequence);
  if (at >= 0) {
    waiting.splice(at, 1);
    kv.free(sequence);
  }
  if (how === 'cancel') sequence.phase = 'cancelled';
  else if (at >= 0) sequence.phase = 'finished';
  return at >= 0;
}
