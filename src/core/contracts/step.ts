import type { GrammarMatcher } from './grammar.ts';
import type { BlockId, Reservation } from './memory.ts';
import type { IncrementalDecoder } from './model.ts';
import type {
  FinishReason,
  GenerateRequest,
  SamplingParams,
  SequenceId,
  TokenEvent,
  TokenId,
  TokenLogprobs,
} from './request.ts';
import type { Draft } from './speculation.ts';

export interface Sequence {
  readonly id: SequenceId;
  readonly request: GenerateRequest;
  readonly params: SamplingParams;
  /** Milliseconds on the engine's clock. */
  readonly arrivedAt: number;
  /** Prompt, then output. */
  readonly tokens: TokenId[];
  readonly promptLength: number;
  /** The sequence whose prompt this one shares. */
  parent?: Sequence;
  /** Tokens whose keys and values are in the cache; `tokens.length - computed` are still to run. */
  computed: number;
  /** How many of its prompt's tokens were in the cache when it was last admitted. */
  cached: number;
  readonly blocks: BlockId[];
  /** Half characters wait here from step to step. */
  readonly decoder: IncrementalDecoder;
  /** Where its output stands in its grammar, through preemptions too; absent: any text. */
  readonly grammar?: GrammarMatcher;
  /** Its mask was late for a step: it has no rows until the mask is there. */
  awaitsMask?: boolean;
  /** What its reader has been shown so far. */
  text: string;
  /** `paused`: its reader is behind; it has no rows, whether it stands in the batch or in the queue. */
  phase: 'waiting' | 'running' | 'paused' | 'finished' | 'cancelled';
  /** Milliseconds on the clock, while paused. */
  pausedAt?: number | undefined;
  /** Set by `stop`, or by a deadline; `settle` then takes the sequence out. */
  finish?: FinishReason;
}

export interface PlannedRow {
  readonly sequence: Sequence;
  readonly kind: 'prefill' | 'decode';
  readonly newTokens: number;
}

/** One turn of the loop. Each stage returns the step with more known about it. `now` is milliseconds on the clock. */
export interface Tick {
  readonly index: number;
  readonly now: number;
}
export interface Planned extends Tick {
  readonly rows: readonly PlannedRow[];
  /** Their blocks are gone; settle puts them in front of the queue, to be computed again. */
  readonly preempted: readonly Sequence[];
  /** When to plan again, in milliseconds on the clock, if nothing else wakes the loop. */
  readonly wakeAt: number;
  /** Sequences that have left and whose `finish` is still to be told; settle adds those that end with the step. */
  readonly ended: readonly Sequence[];
}
export interface Allocated extends Planned {
  readonly reservations: ReadonlyMap<SequenceId, Reservation>;
  /** Admitted, but there was no room yet: they go back to where they stood in the queue, and no reader hears of it. */
  readonly deferred: readonly Sequence[];
}
/** Logits `[vocab]` of the last token of each sequence whose tokens are all computed, or `accepted` where verify has chosen. */
export interface Computed extends Allocated {
  readonly logits: ReadonlyMap<SequenceId, Float32Array>;
  /** What a proposer expects next; behind `verify`, the part of it that was verified. */
  readonly drafts: ReadonlyMap<SequenceId, Draft>;
  /** The drafted tokens that `verify` accepts, and one more. */
  readonly accepted: ReadonlyMap<SequenceId, readonly TokenId[]>;
  /** Of each token that was chosen, where its request asks for them. */
  readonly logprobs: ReadonlyMap<SequenceId, readonly TokenLogprobs[]>;
}
/** New tokens per sequence: one, or several after verify, none for an unfinished prompt chunk. */
export interface Sampled extends Computed {
  readonly produced: ReadonlyMap<SequenceId, readonly TokenId[]>;
  /** Why no token could be chosen: settle takes these sequences out, and each one's reader alone hears its error. */
  readonly failed: ReadonlyMap<SequenceId, unknown>;
  /** Whose mask was not there in time, so that no token was chosen: their last token is computed again once it is. */
  readonly late: ReadonlySet<SequenceId>;
}
/** Text of each produced token; `stop` cuts it at a stop string, and holds back what may still become one. */
export interface Detokenized extends Sampled {
  readonly text: ReadonlyMap<SequenceId, readonly string[]>;
}
/** Applied: lengths advanced, finished and cancelled sequences gone, their blocks back, prefix hashes published. */
export interface Settled extends Detokenized {
  readonly events: ReadonlyMap<SequenceId, readonly TokenEvent[]>;
}
