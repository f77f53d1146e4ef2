import type { EngineContext, Planned, Sequence } from '../contracts/index.ts';

/**
 * Takes out who ends with the error of a step, from queue and batch, and gives their blocks back: those with a row in its
 * plans (one, as a rule). Where nobody had one, nor has `hasEnded` with it, nor waits for the time at which to plan again:
 * all in the batch whose reader is not behind; where nobody is in it either, what waits and cannot be admitted. To plan
 * the same again would fail again. Returns them.
 */
export function failStep(
  plans: readonly Planned[],
  hasEnded: boolean,
  context: Pick<EngineContext, 'waiting' | 'running' | 'kv'>,
): readonly Sequence[] {
  const planned = plans.flatMap(({ rows }) => rows.map(({ sequence }) => sequence));
  const isTimed = planned.length === 0 && plans.some((plan) => wakesAt(plan) < Number.POSITIVE_INFINITY);
  // Who is back in the queue has lost nothing.
  const ran = planned.filter((sequence) => !context.waiting.includes(sequence));
  const out = ran.length > 0 || hasEnded || isTimed ? ran : stuck(context);
  for (const sequence of out) takeOut(sequence, context);
  return out;
}

/** When to plan again after a step that failed, in milliseconds on the clock: never at once, or it might fail for ever. */
export function wakesAt({ wakeAt, now }: Planned): number {
  return wakeAt > now ? wakeAt : Number.POSITIVE_INFINITY;
}

function stuck({ waiting, running }: Pick<EngineContext, 'waiting' | 'running'>): readonly Sequence[] {
  const batch = running.filter(isActive);
  return batch.length > 0 ? batch : waiting.filter(({ phase }) => phase === 'waiting');
}

const isActive = ({ phase, finish, awaitsMask }: Sequence): boolean =>
  (phase !== 'paused' && !awaitsMask) || finish !== undefined;

function takeOut(
  sequence: Sequence,
  { waiting, running, kv }: Pick<EngineContext, 'waiting' | 'running' | 'kv'>,
): void {
  for (const place of [waiting, running]) {
    const at = place.indexOf(sequence);
    if (at < 0) continue;
    place.splice(at, 1);
    kv.free(sequence);
  }
  sequence.phase = 'finished';
}
