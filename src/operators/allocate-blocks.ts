import { map } from 'rxjs';
import type {
  Allocated,
  Planned,
  PlannedRow,
  Reservation,
  Sequence,
  SequenceId,
  Slot,
} from '../core/contracts/index.ts';

/**
 * Reserves KV blocks for each planned row. A row that finds no room leaves the step, and its sequence is preempted:
 * settle puts it back in front of the queue, to be computed again.
 *
 *     planned:          --p----------
 *     allocateBlocks(): --allocated--
 */
export const allocateBlocks = (): Slot<Planned, Allocated> => (context) =>
  map((step) => {
    const reservations = new Map<SequenceId, Reservation>();
    const rows: PlannedRow[] = [];
    const preempted: Sequence[] = [...step.preempted];
    for (const row of step.rows) {
      const reservation = context.kv.reserve(row.sequence, row.newTokens);
      if (reservation === undefined) {
        preempted.push(row.sequence);
        continue;
      }
      reservations.set(row.sequence.id, reservation);
      rows.push(row);
    }
    return { ...step, rows, preempted, reservations };
  });
