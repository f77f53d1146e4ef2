import { map } from 'rxjs';
import type { EngineContext, Planned, Sequence, Slot, Tick } from '../core/contracts/index.ts';
import { isLate } from '../core/grammar/masks-ready.ts';
import type { Policy, SchedulerState } from '../core/scheduling/policy.ts';
import { preempt } from '../core/scheduling/preempt.ts';
import { sweep } from '../core/scheduling/sweep.ts';

/**
 * Decides which sequences run in this step, and with how many new tokens each. Sweeps out what was cancelled, preempts
 * sequences whose readers have been behind for too long, lets those continue whose late grammar masks have come, asks the
 * policy for a plan, and moves what it admits from `waiting` to `running`. The plan may be empty.
 *
 *     ticks:            --t--------
 *     schedule(policy): --planned--
 */
export const schedule =
  (policy: Policy): Slot<Tick, Planned> =>
  (context) =>
    map((tick) => {
      const { waiting, running, kv, options } = context;
      const ended = sweep(context);
      const paused = takeFromStalled(context, tick.now);
      for (const sequences of [running, waiting]) sequences.forEach(letInWithMask);
      const state: SchedulerState = {
        now: tick.now,
        waiting,
        running,
        recompute: kv.pool.layout === 'none',
        replaysDecodes: kv.pool.layout === 'contiguous',
        cachedTokens: (sequence) => kv.cachedTokens(sequence),
        options,
      };
      const { admitted, rows, wakeAt = Number.POSITIVE_INFINITY } = policy(state);
      for (const sequence of admitted) {
        waiting.splice(waiting.indexOf(sequence), 1);
        running.push(sequence);
        sequence.phase = 'running';
      }
      return { ...tick, rows, preempted: paused.stalled, ended, wakeAt: Math.min(wakeAt, paused.nextStallAt) };
    });

function letInWithMask(sequence: Sequence): void {
  if (sequence.awaitsMask && !isLate(sequence)) sequence.awaitsMask = false;
}

/** Preempts the sequences that have been paused for too long; says when the next one will have been. */
function takeFromStalled({ running, kv, options }: EngineContext, now: number) {
  const stalled: Sequence[] = [];
  let nextStallAt = Number.POSITIVE_INFINITY;
  for (const sequence of running) {
    if (sequence.phase !== 'paused') continue;
    const stallAt = (sequence.pausedAt ?? now) + options.maxPauseMs;
    if (stallAt > now) {
      nextStallAt = Math.min(nextStallAt, stallAt);
      continue;
    }
    preempt(sequence, kv);
    stalled.push(sequence);
  }
  return { stalled, nextStallAt };
}
