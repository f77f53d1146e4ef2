import { map } from 'rxjs';
import type { RequestMetrics, Sequence, Settled, Slot, TokenEvent } from '../core/contracts/index.ts';

interface Times {
  readonly firstAt: number;
  lastAt: number;
}

/**
 * Measures each request from the events themselves: TTFT from arrival to the first token, TPOT between the first and
 * the last, per token after the first, in milliseconds; throughput in output tokens per second since arrival.
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
      if (!step.produced.get(sequence.id)?.length) continue;
      const seen = times.get(sequence);
      if (seen) seen.lastAt = now;
      else times.set(sequence, { firstAt: now, lastAt: now });
    }
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
  const metrics: RequestMetrics = {
    ...event.result.metrics,
    throughput: elapsed > 0 ? (outputTokens * 1000) / elapsed : 0,
    ttftMs: seen ? seen.firstAt - arrivedAt : 0,
    tpotMs: seen && outputTokens > 1 ? (seen.lastAt - seen.firstAt) / (outputTokens - 1) : 0,
  };
  return { type: 'finished', result: { ...event.result, metrics } };
}
