import { type MonoTypeOperatorFunction, tap } from 'rxjs';
import type { EngineContext, Observer, Planned, Sequence, Settled, StepStage, Tick } from '../core/contracts/index.ts';
import { type RecordLine, recordedRequest, recordedStep } from '../core/recording/lines.ts';

/**
 * Writes what reaches the scheduler of one engine and what it decides, a line each, for `replay`. It only observes: a
 * sequence that is new in queue or batch has arrived, and one that is gone without having finished was cancelled.
 *
 *     schedule  record    …   meter   record
 *     --s-------s-------------m-------m------
 *               arrive, …             step
 */
export function record(write: (line: RecordLine) => void): Observer {
  /** Everyone in queue and batch, with since when the reader was behind when last seen. */
  const known = new Map<Sequence, number | undefined>();
  /** Those whose mask was late when last seen. */
  const late = new Set<Sequence>();
  /** A step that was planned and has not settled. */
  let open: Tick | undefined;

  const leave = (sequence: Sequence, type: 'cancel' | 'abort', during: boolean) => {
    known.delete(sequence);
    late.delete(sequence);
    write({ type, id: sequence.id, during });
  };

  /** The stages behind it see the error as well, and then it is told already. */
  const failed = (stage: StepStage) => {
    if (open) write({ type: 'step', ...open, failed: stage, rows: [], preempted: [], events: [] });
    open = undefined;
  };

  const planned = ({ waiting, running }: EngineContext, { index, now, ended }: Planned) => {
    // A step of which some stage made nothing did not come to its end.
    failed('meter');
    open = { index, now };
    // Of sequences that arrived at the same time, those that run already stood before those that wait.
    const present = [...running, ...waiting];
    for (const sequence of [...known.keys()]) {
      if (ended.includes(sequence)) leave(sequence, 'abort', false);
      else if (!present.includes(sequence)) leave(sequence, 'cancel', false);
    }
    const arrived = present.filter((sequence) => !known.has(sequence));
    arrived.sort((a, b) => a.arrivedAt - b.arrivedAt);
    for (const sequence of arrived) {
      known.set(sequence, undefined);
      write({ type: 'arrive', request: recordedRequest(sequence) });
    }
    for (const [sequence, before] of known) {
      const { id, phase, pausedAt = now } = sequence;
      const since = phase === 'paused' ? pausedAt : undefined;
      if (since === before) continue;
      known.set(sequence, since);
      // One that caught up in between and is behind again is so from then on.
      if (before !== undefined) write({ type: 'resume', id });
      if (since !== undefined) write({ type: 'pause', id, at: since });
    }
    for (const sequence of late) {
      if (sequence.awaitsMask) continue;
      late.delete(sequence);
      write({ type: 'mask', id: sequence.id });
    }
  };

  const settled = ({ waiting, running }: EngineContext, step: Settled) => {
    for (const sequence of [...known.keys()]) {
      if (waiting.includes(sequence) || running.includes(sequence)) continue;
      if (!step.ended.includes(sequence)) leave(sequence, 'cancel', true);
      else if (sequence.finish === 'abort') leave(sequence, 'abort', true);
      else known.delete(sequence);
    }
    for (const sequence of known.keys()) if (sequence.awaitsMask) late.add(sequence);
    open = undefined;
    write({ type: 'step', index: step.index, now: step.now, ...recordedStep(step) });
  };

  return <T extends Tick>(context: EngineContext, stage: StepStage): MonoTypeOperatorFunction<T> =>
    tap({
      next: (step) => {
        if (stage === 'schedule') planned(context, step as unknown as Planned);
        if (stage === 'meter') settled(context, step as unknown as Settled);
      },
      error: () => failed(stage),
    });
}
