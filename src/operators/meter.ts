import { map } from 'rxjs';
import type { RequestMetrics, Sequence, Settled, Slot, TokenEvent } from '../core/contracts/index.ts';
import { DraftCounts, verified } from '../core/speculation/draft-counts.ts';

interface Times {
  /** Of the first step that ran it. */
  readonly startedAt: number;
  firstAt?: number;
  lastAt?: number;
  readonly drafts: DraftCounts;
}

/**
 * Adds each request's metrics to its last event. In milliseconds: TTFT, from arrival to the first token; TPOT, the mean
 * time per token after the first; and the wait in the queue. Throughput is output tokens per second since arrival. Where
 * tokens were drafted, also how many of them were accepted.
 *
 *     settled: --s--------
 *     meter(): --settled--
 */
export const meter = (): Slot<Settled, Settled> => (context) => {
  const { clock } = context.options;
  const times = new WeakMap<Sequence, Times>();
  return map((step) => {
    const now = clock.now();
    for (const { sequence } of step.rows) {
      let seen = times.get(sequence);
      if (seen === undefined) {
        seen = { startedAt: step.now, drafts: new DraftCounts() };
        times.set(sequence, seen);
      }
      if (!step.produced.get(sequence.id)?.length) continue;
      seen.firstAt ??= now;
      seen.lastAt = now;
    }
    for (const [sequence, proposed, accepted] of verified(step)) times.get(sequence)?.drafts.add(proposed, accepted);
    if (step.ended.length === 0) return step;
    const events = new Map(step.events);
    for (const sequence of step.ended) {
      events.set(
        sequence.id,
        (step.events.get(sequence.id) ?? []).map((event) => measured(event, sequence, times.get(sequence), now)),
      );
    }
    return { ...step, events };
  });
};

function measured(event: TokenEvent, { arrivedAt }: Sequence, seen: Times | undefined, now: number): TokenEvent {
  if (event.type !== 'finished') return event;
  const { outputTokens } = event.result.metrics;
  const elapsed = now - arrivedAt;
  const { startedAt, firstAt, lastAt = now } = seen ?? {};
  const specDecode = seen?.drafts.metrics();
  const metrics: RequestMetrics = {
    ...event.result.metrics,
    throughput: elapsed > 0 ? (outputTokens * 1000) / elapsed : 0,
    ttftMs: firstAt === undefined ? 0 : firstAt - arrivedAt,
    tpotMs: firstAt !== undefined && outputTokens > 1 ? (lastAt - firstAt) / (outputTokens - 1) : 0,
    ...(startedAt !== undefined && { queueMs: startedAt - arrivedAt }),
    ...(specDecode && { specDecode }),
  };
  return { type: 'finished', result: { ...event.result, metrics } };
}
