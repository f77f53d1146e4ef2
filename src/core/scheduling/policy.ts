import type { EngineOptions, PlannedRow, Sequence } from '../contracts/index.ts';

/** What a policy may look at. It changes nothing: `schedule` and `settle` apply what it plans. */
export interface SchedulerState {
  /** Milliseconds on the clock. */
  readonly now: number;
  /** In order of arrival; a preempted sequence stands in front. */
  readonly waiting: readonly Sequence[];
  readonly running: readonly Sequence[];
  /** Nothing is kept between steps, so each step runs a sequence from its first token. */
  readonly recompute: boolean;
  /** The kernels for one token and for many round differently: what was decoded must be decoded again, not prefilled. */
  readonly replaysDecodes: boolean;
  /** How many tokens of a sequence that has no blocks yet are in the cache. */
  readonly cachedTokens: (sequence: Sequence) => number;
  readonly options: EngineOptions;
}

export interface Plan {
  /** Taken from `waiting`, in this order; each may have a row already. */
  readonly admitted: readonly Sequence[];
  readonly rows: readonly PlannedRow[];
  /**
   * When to plan again, in milliseconds on the clock, if nothing else happens; absent: never. A plan without rows and
   * without this lets the engine sleep until a request arrives or is cancelled, whoever waits.
   */
  readonly wakeAt?: number;
}

/**
 * Plan, then apply (vLLM's scheduler, nano-vllm's `schedule` and `postprocess`): state in, plan out. While sequences wait
 * or run, plan a row or give `wakeAt`: else only a request that comes or goes calls the policy again.
 */
export type Policy = (state: SchedulerState) => Plan;

/**
 * Whether the sequence may have a row: it is not paused (then it keeps its place but gets no rows), and waits neither for
 * a late grammar mask nor for the prompt that it shares with its parent.
 */
export const isReady = (sequence: Sequence): boolean =>
  isActive(sequence) && !sequence.awaitsMask && !awaitsParent(sequence);

const isActive = ({ phase }: Sequence): boolean => phase === 'running' || phase === 'waiting';

const awaitsParent = ({ parent, computed }: Sequence): boolean =>
  parent !== undefined && computed === 0 && isActive(parent) && parent.computed < parent.promptLength;

/** The sequence's next row: one decode token, or a chunk of at most `limit` of the tokens that are not computed yet. */
export function nextRow(sequence: Sequence, state: SchedulerState, limit: number): PlannedRow {
  const { recompute, replaysDecodes, cachedTokens } = state;
  const { tokens, promptLength, computed } = sequence;
  const remaining = tokens.length - (computed || cachedTokens(sequence));
  if (replaysDecodes && tokens.length > promptLength) {
    if (computed >= promptLength) return { sequence, kind: 'decode', newTokens: 1 };
    return { sequence, kind: 'prefill', newTokens: Math.min(promptLength - computed, limit) };
  }
  const decoding = tokens.length > promptLength && (recompute || remaining === 1);
  return decoding
    ? { sequence, kind: 'decode', newTokens: remaining }
    : { sequence, kind: 'prefill', newTokens: recompute ? remaining : Math.min(remaining, limit) };
}
