import type { MonoTypeOperatorFunction, Observable, OperatorFunction, SchedulerLike } from 'rxjs';
import type { KvAllocator, KvPool, KvSlot, PrefixCacheStats } from './memory.ts';
import type { Model, ModelSlot } from './model.ts';
import type { GenerateRequest, GenerateResult, Prompt, SamplingParams, SequenceId, TokenEvent } from './request.ts';
import type { ModelRunner, RuntimeSlot } from './runtime.ts';
import type { SpecDecodeMetrics } from './speculation.ts';
import type { Allocated, Computed, Detokenized, Planned, Sampled, Sequence, Settled, Tick } from './step.ts';
import type { EngineFrame } from './watch.ts';

/** Sequences, KV blocks, and tokens a second over the last second of the engine's clock. */
export interface EngineStats {
  readonly waiting: number;
  readonly running: number;
  readonly paused: number;
  readonly blocksUsed: number;
  readonly blocksTotal: number;
  readonly prefixCache: PrefixCacheStats;
  readonly promptTokensPerS: number;
  readonly outputTokensPerS: number;
  readonly step: number;
  /** Since the engine was made; absent: nothing was drafted. */
  readonly specDecode?: SpecDecodeMetrics;
}

export interface Engine {
  readonly name: string;
  readonly model: Model;
  readonly options: EngineOptions;
  /** How much its cache holds. */
  readonly pool: KvPool;
  /** The runner's, for people to read. */
  readonly description: string;
  /**
   * Cold: each subscription is one request; unsubscribing cancels it. What throws in an operator behind it (`tap`, `map`)
   * cancels it too. What throws in the `next` of a subscriber does not, for RxJS catches it there: each throw is reported
   * as an uncaught exception (`config.onUnhandledError`), and the stream goes on. Errors
   * with `RXLLM_INVALID_REQUEST`, `RXLLM_CONTEXT_LENGTH_EXCEEDED`, `RXLLM_CHAT_TEMPLATE_MISSING`,
   * `RXLLM_CHAT_TEMPLATE_FAILED`, `RXLLM_GRAMMAR_INVALID`, `RXLLM_GRAMMAR_TOO_LARGE`, `RXLLM_QUEUE_FULL`, `RXLLM_ENGINE_CLOSED`, and `RXLLM_RUNTIME_FAILED` once it runs.
   */
  stream(request: GenerateRequest): Observable<TokenEvent>;
  /** `maxNewTokens` wins over `params.maxTokens`. An aborted signal rejects with its reason, an `AbortError`. */
  generate(
    prompt: Prompt,
    maxNewTokens?: number,
    params?: Partial<SamplingParams>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<GenerateResult>;
  generateBatch(
    prompts: readonly Prompt[],
    maxNewTokens?: number,
    params?: Partial<SamplingParams>,
  ): Promise<readonly GenerateResult[]>;
  readonly stats$: Observable<EngineStats>;
  /**
   * What runs where, step by step: a frame at once, then at most one in `everyMs`. Costs nothing while nobody is
   * subscribed. An engine that is one box shows nothing.
   */
  watch(everyMs: number): Observable<EngineFrame>;
  /**
   * Refuses new requests, ends those under way with `abort`, waits for the running step, frees everything. It waits as long
   * as the step takes, whoever wrote its stages: with one that never emits it never resolves, and costs no CPU meanwhile.
   */
  close(): Promise<void>;
}

export interface EngineOptions {
  /** Requests that may wait; one more is refused with `RXLLM_QUEUE_FULL`. */
  readonly maxQueue: number;
  /** Prompt and output together, in tokens. */
  readonly maxModelLen: number;
  readonly kvCacheMemoryMiB: number;
  /** Tokens a KV block, where the cache has blocks. */
  readonly blockSize: number;
  /** Sequences that may run at once, for policies that run several. */
  readonly maxNumSeqs: number;
  /** Tokens of one step, prompt chunks and decoding rows together. */
  readonly maxNumBatchedTokens: number;
  /** A sequence whose reader stays behind for longer gives its KV blocks back, in milliseconds. */
  readonly maxPauseMs: number;
  /** Times of the metrics and of deadlines, in milliseconds. */
  readonly clock: SchedulerLike;
  /** In [0, 1); seeds the requests that bring no seed. */
  readonly random: () => number;
  readonly newId: () => SequenceId;
  /** Emits when the next step may start: by default once the event loop has served its I/O. */
  readonly betweenSteps: () => Observable<unknown>;
}

/** What a slot may use. `waiting` and `running` are the scheduler's; only settle and schedule move sequences. */
export interface EngineContext {
  readonly options: EngineOptions;
  readonly model: Model;
  readonly runner: ModelRunner;
  readonly kv: KvAllocator;
  readonly waiting: Sequence[];
  readonly running: Sequence[];
  /** What a slot starts for itself: the engine waits for it before it serves, and disposes of it when it closes. */
  readonly owned: Promise<Owned>[];
}

/** A model of a proposer's own, say. */
export type Owned = Pick<ModelRunner, 'dispose'>;

/** A factory, so that engines never share state. */
export type Slot<I, O> = (context: EngineContext) => OperatorFunction<I, O>;

export interface Stages {
  readonly tokenize: Slot<GenerateRequest, Sequence>;
  readonly schedule: Slot<Tick, Planned>;
  readonly allocate: Slot<Planned, Allocated>;
  readonly prefill: Slot<Allocated, Computed>;
  /** Chapter 13 puts `pipeSlots(draft(proposer, { k }), verify())` here. */
  readonly decode: Slot<Computed, Computed>;
  /** Rows that verify has not already decided. */
  readonly sample: Slot<Computed, Sampled>;
  readonly detokenize: Slot<Sampled, Detokenized>;
  readonly stop: Slot<Detokenized, Detokenized>;
  readonly settle: Slot<Detokenized, Settled>;
  readonly meter: Slot<Settled, Settled>;
}

/** Every stage but tokenize works on the step, so an observer of ticks can stand behind any of them. */
export type StepStage = Exclude<keyof Stages, 'tokenize'>;
export type Observer = <T extends Tick>(context: EngineContext, stage: StepStage) => MonoTypeOperatorFunction<T>;

export interface StagedRecipe extends Stages {
  readonly kind: 'staged';
  readonly name: string;
  /** Gives the reference's greedy ids (false where weights differ, as with int4): the equality test reads it. */
  readonly exact: boolean;
  readonly model: ModelSlot;
  readonly runtime: RuntimeSlot;
  readonly kv: KvSlot;
  /** `profile()`, `record()`: behind each stage, in this order. */
  readonly observers: readonly Observer[];
}

/** Chapter 1: one box from text to result, with nothing to swap inside. It keeps no keys and values between passes. */
export interface OpaqueRecipe {
  readonly kind: 'opaque';
  readonly name: string;
  readonly exact: boolean;
  readonly model: ModelSlot;
  readonly runtime: RuntimeSlot;
  readonly box: Slot<GenerateRequest, GenerateResult>;
}

export type Recipe = StagedRecipe | OpaqueRecipe;
