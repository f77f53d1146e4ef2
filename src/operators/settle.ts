import { map } from 'rxjs';
import type {
  Detokenized,
  EngineContext,
  GenerateResult,
  RequestMetrics,
  Sequence,
  SequenceId,
  Settled,
  Slot,
  TokenEvent,
} from '../core/contracts/index.ts';
import { sweep } from '../core/scheduling/sweep.ts';

/**
 * Applies the step. Sequences grow by the tokens that were produced; those whose grammar mask was late get no rows until
 * it is there; preempted ones go back to the queue; finished, failed and cancelled ones leave and give their blocks back.
 * What readers should hear becomes events.
 *
 *     detokenized: --d--------
 *     settle():    --settled--
 */
export const settle = (): Slot<Detokenized, Settled> => (context) =>
  map((step) => {
    const events = new Map<SequenceId, readonly TokenEvent[]>();
    for (const row of step.rows) {
      const { sequence, newTokens } = row;
      // Nothing more is to be told of it but its error, and that goes past the events.
      if (step.failed.has(sequence.id)) sequence.phase = 'cancelled';
      const isLate = step.late.has(sequence.id);
      if (isLate) sequence.awaitsMask = true;
      const isCancelled = sequence.phase === 'cancelled';
      // What was chosen for one that nobody reads any more is dropped, wherever in the step its cancel came.
      const ids = isCancelled ? [] : (step.produced.get(sequence.id) ?? []);
      // Of a verified run all but the last token are computed, as its row's own token is: as many as stop has left of it.
      // The last token of a late row is left, to be computed again for its logits.
      const isVerified = step.accepted.has(sequence.id) && !isCancelled;
      const advanced = isVerified ? ids.length : newTokens - (isLate ? 1 : 0);
      if (context.kv.pool.layout !== 'none') sequence.computed += advanced;
      sequence.tokens.push(...ids);
      context.kv.publish(sequence);
      if (!isCancelled) events.set(sequence.id, eventsOf(row, step));
    }
    requeue(step.deferred, context);
    requeue(step.preempted, context);
    for (const sequence of step.preempted) if (staysOn(sequence)) events.set(sequence.id, [{ type: 'preempted' }]);
    const ended = [...step.ended, ...sweep(context)];
    for (const sequence of ended) {
      events.set(sequence.id, [...(events.get(sequence.id) ?? []), finished(sequence)]);
    }
    return { ...step, ended, events };
  });

/** It was neither cancelled nor given a `finish` while the step ran. */
const staysOn = ({ phase, finish }: Sequence): boolean => phase !== 'cancelled' && finish === undefined;

/** In front of the queue, by arrival; who does not stay is left to the sweep, which does not look into the queue. */
function requeue(sequences: readonly Sequence[], { running, waiting }: EngineContext): void {
  const returning = sequences.filter(staysOn);
  returning.sort((a, b) => a.arrivedAt - b.arrivedAt);
  for (const sequence of returning) {
    if (sequence.phase === 'running') sequence.phase = 'waiting';
    running.splice(running.indexOf(sequence), 1);
  }
  waiting.unshift(...returning);
}

function eventsOf({ sequence, kind, newTokens }: Detokenized['rows'][number], step: Detokenized): TokenEvent[] {
  const events: TokenEvent[] = [];
  if (kind === 'prefill') {
    const { cached, promptLength } = sequence;
    const computed = sequence.computed === 0 ? newTokens : sequence.computed;
    events.push({ type: 'prefill', computed: Math.min(computed, promptLength), cached, total: promptLength });
  }
  const pieces = step.text.get(sequence.id) ?? [];
  const logprobs = step.logprobs.get(sequence.id);
  for (const [index, id] of (step.produced.get(sequence.id) ?? []).entries()) {
    const text = pieces[index] ?? '';
    sequence.text += text;
    const likelihood = logprobs?.[index];
    events.push(likelihood ? { type: 'token', id, text, logprobs: likelihood } : { type: 'token', id, text });
  }
  return events;
}

/** The last event. Its times are 0, not measured, unless `meter` stands behind. */
export function finished(sequence: Sequence): TokenEvent {
  return { type: 'finished', result: resultOf(sequence) };
}

/** What a sequence has come to. Throughput and times are not measured here. */
export function resultOf(sequence: Sequence): GenerateResult {
  const outputIds = sequence.tokens.slice(sequence.promptLength);
  const metrics: RequestMetrics = {
    throughput: 0,
    inputTokens: sequence.promptLength,
    outputTokens: outputIds.length,
    ttftMs: 0,
    tpotMs: 0,
    ...(sequence.cached > 0 && { cachedTokens: sequence.cached }),
  };
  return { text: sequence.text, outputIds, finishReason: sequence.finish ?? 'abort', metrics };
}
