import { map } from 'rxjs';
import type { Planned, Slot, Tick } from '../core/contracts/index.ts';
import type { Policy } from '../core/scheduling/policy.ts';
import { sweep } from '../core/scheduling/sweep.ts';

/**
 * Decides which sequences run in this step and how many new tokens each: sweeps out what was cancelled, asks the
 * policy for a plan, and moves what it admits from `waiting` to `running`. The plan may be empty.
 *
 *     ticks:            --t--------
 *     schedule(policy): --planned--
 */
export const schedule =
  (policy: Policy): Slot<Tick, Planned> =>
  (context) =>
    map((tick) => {
      const { waiting, running, kv } = context;
      const ended = sweep(context);
      const { admitted, rows } = policy({ waiting, running, recompute: kv.pool.layout === 'none' });
      for (const sequence of admitted) {
        waiting.splice(waiting.indexOf(sequence), 1);
        running.push(sequence);
        sequence.phase = 'running';
      }
      return { ...tick, rows, preempted: [], ended };
    });
