import { map } from 'rxjs';
import type { Allocated, Planned, Reservation, Sequence, SequenceId, Slot } from '../core/contracts/index.ts';
import { type QueuePolicy, victimOf } from '../core/scheduling/order.ts';
import { preempt } from '../core/scheduling/preempt.ts';

export interface AllocateBlocksOptions {
  /** Which sequence is preempted first when memory is short: the newest, or the one with the highest `priority` number. */
  readonly policy?: QueuePolicy;
}

/**
 * Reserves KV blocks for each planned row. Where memory is short, running sequences are preempted, the last in order
 * first, until the row has room; one that was only just admitted takes nothing from others and waits on.
 *
 *     planned:          --p----------
 *     allocateBlocks(): --allocated--
 */
export const allocateBlocks =
  ({ policy = 'fcfs' }: AllocateBlocksOptions = {}): Slot<Planned, Allocated> =>
  ({ kv, running, runner }) =>
    map((step) => {
      const reservations = new Map<SequenceId, Reservation>();
      const preempted = new Set<Sequence>(step.preempted);
      const deferred: Sequence[] = [];
      for (const { sequence, newTokens } of step.rows) {
        if (preempted.has(sequence)) continue;
        const isNew = sequence.blocks.length === 0;
        // A later sequence must not overtake one that found no room.
        let reservation = isNew && deferred.length > 0 ? undefined : kv.reserve(sequence, newTokens);
        while (reservation === undefined && !isNew) {
          const victim = victimOf(policy, running);
          if (victim === undefined) break;
          preempt(victim, kv);
          preempted.add(victim);
          reservations.delete(victim.id);
          if (victim === sequence) break;
          reservation = kv.reserve(sequence, newTokens);
        }
        if (reservation !== undefined) reservations.set(sequence.id, reservation);
        else if (!preempted.has(sequence)) deferred.push(sequence);
      }
      const copies = [...reservations.values()].flatMap((reservation) => reservation.copies ?? []);
      if (copies.length > 0) runner.copyBlocks(copies);
      const rows = step.rows.filter((row) => reservations.has(row.sequence.id));
      return { ...step, rows, preempted: [...preempted], deferred, reservations };
    });
