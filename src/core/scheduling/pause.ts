import type { EngineContext, Sequence } from '../contracts/index.ts';

/** Its reader is behind: it keeps its place and its blocks, and has no rows. `now` is milliseconds on the clock. */
export function pause(sequence: Sequence, now: number): void {
  sequence.phase = 'paused';
  sequence.pausedAt ??= now;
}

/** Its reader has caught up. */
export function resume(sequence: Sequence, { running }: Pick<EngineContext, 'running'>): void {
  sequence.phase = running.includes(sequence) ? 'running' : 'waiting';
  sequence.pausedAt = undefined;
}
