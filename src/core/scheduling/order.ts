import type { Sequence } from '../contracts/index.ts';

/** `fcfs`: first come, first served. `priority`: a lower `request.priority` first, and fcfs among equals. */
export type QueuePolicy = 'fcfs' | 'priority';

/** Negative where `a` runs before `b`. */
export function compare(policy: QueuePolicy, a: Sequence, b: Sequence): number {
  const byPriority = policy === 'priority' ? (a.request.priority ?? 0) - (b.request.priority ?? 0) : 0;
  return byPriority || a.arrivedAt - b.arrivedAt;
}

/**
 * The sequence to preempt when memory is short: one whose reader is behind, else the last in order. Undefined when none
 * of them holds blocks.
 */
export function victimOf(policy: QueuePolicy, candidates: readonly Sequence[]): Sequence | undefined {
  let victim: Sequence | undefined;
  for (const sequence of candidates) {
    if (sequence.blocks.length === 0) continue;
    if (victim === undefined || yields(policy, sequence, victim)) victim = sequence;
  }
  return victim;
}

/** Whether `a` is preempted before `b`, which was admitted earlier. */
function yields(policy: QueuePolicy, a: Sequence, b: Sequence): boolean {
  const [aPaused, bPaused] = [a.phase === 'paused', b.phase === 'paused'];
  return aPaused === bPaused ? compare(policy, a, b) >= 0 : aPaused;
}
