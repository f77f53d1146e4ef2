import type { Observable } from 'rxjs';

export type TokenId = number;
export type SequenceId = string;

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content: string | null;
}

/** Text, token ids, or messages for the model's chat template. */
export type Prompt = string | readonly TokenId[] | readonly ChatMessage[];

export interface GenerateRequest {
  readonly id?: SequenceId;
  readonly prompt: Prompt;
  readonly params?: Partial<SamplingParams>;
  /** Lower runs earlier under the priority policy. */
  readonly priority?: number;
  /** Milliseconds from arrival, above 0; past it the request ends with `abort`. */
  readonly deadlineMs?: number;
  /** Prefix-cache blocks are shared only under the same salt. */
  readonly cacheSalt?: string;
  /**
   * A request under way with the same prompt: where the engine can share blocks, this one waits until that prompt is
   * computed, and then computes only what differs. So `n` answers cost one prompt.
   */
  readonly forkOf?: SequenceId;
  /**
   * false while the reader is behind: its sequence pauses. Absent or completed: always ready. Its error ends the request.
   */
  readonly demand$?: Observable<boolean>;
}

export interface SamplingParams {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly maxTokens: number;
  readonly minTokens: number;
  readonly ignoreEos: boolean;
  readonly repetitionPenalty: number;
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  readonly seed?: number;
  readonly stop: readonly string[];
  readonly stopTokenIds: readonly TokenId[];
  readonly logitBias?: ReadonlyMap<TokenId, number>;
  /** How many alternatives to report beside each chosen token, 0 to 20; absent: none, not even its own. */
  readonly logprobs?: number;
}

/** `abort`: a deadline, a shutdown, or an AbortSignal with partial results asked for. Unsubscribing gives nothing. */
export type FinishReason = 'stop' | 'length' | 'abort';

/** Throughput in tokens/s; a time of 0 was not measured. */
export interface RequestMetrics {
  readonly throughput: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly ttftMs: number;
  readonly tpotMs: number;
  /** Prompt tokens that were in the prefix cache; absent: none. */
  readonly cachedTokens?: number;
  /** From arrival to the first step that ran the request; absent when it was not measured. */
  readonly queueMs?: number;
}

export interface GenerateResult {
  readonly text: string;
  readonly outputIds: readonly TokenId[];
  readonly finishReason: FinishReason;
  readonly metrics: RequestMetrics;
}

/** Natural logarithms of the model's own probabilities, before penalties and temperature. */
export interface TokenLogprob {
  readonly id: TokenId;
  readonly logprob: number;
}
export interface TokenLogprobs extends TokenLogprob {
  readonly top: readonly TokenLogprob[];
}

export type TokenEvent =
  | { readonly type: 'queued'; readonly position: number }
  | { readonly type: 'prefill'; readonly computed: number; readonly cached: number; readonly total: number }
  | { readonly type: 'token'; readonly id: TokenId; readonly text: string; readonly logprobs?: TokenLogprobs }
  | { readonly type: 'preempted' }
  | { readonly type: 'finished'; readonly result: GenerateResult };
