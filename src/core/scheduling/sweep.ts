import type { EngineContext, Sequence } from '../contracts/index.ts';

/**
 * Takes the sequences that were cancelled or have a `finish` out of the batch and gives their blocks back.
 * Returns those with a `finish`, which their readers have yet to hear of. Runs only between forward passes:
 * at the start of `schedule`, for what was cancelled between two steps and has no row in any plan, and in `settle`.
 */
export function sweep({ running, kv }: Pick<EngineContext, 'running' | 'kv'>): Sequence[] {
  const ended: Sequence[] = [];
  for (let i = running.length - 1; i >= 0; i--) {
    const sequence = running[i]!;
    const cancelled = sequence.phase === 'cancelled';
    if (!cancelled && sequence.finish === undefined) continue;
    running.splice(i, 1);
    kv.free(sequence);
    if (cancelled) continue;
    sequence.phase = 'finished';
    ended.unshift(sequence);
  }
  return ended;
}
