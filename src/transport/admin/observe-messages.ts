import type { BlockId, KvLayout } from '../../core/contracts/index.ts';
import type { WireMetrics } from '../openai/usage.ts';

/** Which engine is shown: the first message, and another when another engine serves. */
export interface EngineMessage {
  readonly type: 'engine';
  readonly engine: string;
  readonly model: string;
  readonly runtime: string;
  readonly kv: { readonly layout: KvLayout; readonly blocks: number; readonly block_size: number };
}

/** What has changed since the frame before. Sequences are numbered from 1 in the order in which they are first seen. */
export interface FrameMessage {
  readonly type: 'frame';
  readonly steps: readonly {
    readonly index: number;
    /** Sequence, what was run, tokens computed, tokens drafted beside them and how many of those stood. */
    readonly rows: readonly (readonly [
      sequence: number,
      kind: 'prefill' | 'decode',
      tokens: number,
      drafted: number,
      accepted: number,
    ])[];
    readonly preempted: readonly number[];
    /** Time to the first token of those that had it in this step, in milliseconds. */
    readonly ttft_ms: readonly number[];
    readonly finished: readonly { readonly sequence: number; readonly reason: string; readonly metrics: WireMetrics }[];
  }[];
  readonly running: readonly SequenceMessage[];
  /** The first of the queue. */
  readonly waiting: readonly SequenceMessage[];
  readonly blocks: readonly (readonly [BlockId, BlockMessage])[];
  /** null before the first step. */
  readonly stats: {
    readonly waiting: number;
    readonly running: number;
    readonly paused: number;
    readonly blocks_used: number;
    readonly blocks_total: number;
    readonly prefix_queries: number;
    readonly prefix_hits: number;
    readonly prompt_tokens_per_s: number;
    readonly output_tokens_per_s: number;
    readonly tokens_proposed: number;
    readonly tokens_accepted: number;
  } | null;
}

export interface SequenceMessage {
  readonly sequence: number;
  readonly paused: boolean;
  /** Tokens: of the prompt, of prompt and output, those in the cache, those that were found there. */
  readonly prompt: number;
  readonly length: number;
  readonly computed: number;
  readonly cached: number;
}

/** Who holds a block; `cached`: nobody, and what it holds can be found again. */
export type BlockMessage = 'free' | 'cached' | readonly number[];

export type ObserveMessage = EngineMessage | FrameMessage;
