import type { KvSnapshot } from './memory.ts';
import type { FinishReason, RequestMetrics, SequenceId } from './request.ts';
import type { PlannedRow, Sequence } from './step.ts';

/** What a row came to. */
export interface RowTrace {
  readonly id: SequenceId;
  readonly kind: PlannedRow['kind'];
  /** Tokens computed, a draft's not among them. */
  readonly tokens: number;
  /** Tokens of a draft that were verified beside them, and how many of those were accepted. */
  readonly drafted: number;
  readonly accepted: number;
}

/** What a step did. */
export interface StepTrace {
  readonly index: number;
  readonly rows: readonly RowTrace[];
  readonly preempted: readonly SequenceId[];
  /** Whose first token it gave, in milliseconds from arrival. */
  readonly firstTokens: readonly { readonly id: SequenceId; readonly ttftMs: number }[];
  readonly finished: readonly {
    readonly id: SequenceId;
    readonly reason: FinishReason;
    readonly metrics: RequestMetrics;
  }[];
}

/** How far a sequence is, in tokens. */
export interface SequenceTrace extends Pick<Sequence, 'id' | 'phase' | 'promptLength' | 'computed' | 'cached'> {
  /** Prompt and output. */
  readonly length: number;
}

/** A picture of an engine, and the steps since the one before. */
export interface EngineFrame {
  readonly steps: readonly StepTrace[];
  readonly running: readonly SequenceTrace[];
  /** The queue, the next to be admitted first. */
  readonly waiting: readonly SequenceTrace[];
  readonly kv: KvSnapshot;
}
