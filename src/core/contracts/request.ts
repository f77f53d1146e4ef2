import type { Observable } from 'rxjs';
import type { ResponseFormat, Tool, ToolCall } from './grammar.ts';
import type { SpecDecodeMetrics } from './speculation.ts';

export type TokenId = number;
export type SequenceId = string;

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content: string | null;
  /** An assistant's. */
  readonly toolCalls?: readonly ToolCall[];
  /** Which call a `tool` message answers. */
  readonly toolCallId?: string;
  readonly name?: string;
}

/** Text, token ids, or messages for the model's chat template. */
export type Prompt = string | readonly TokenId[] | readonly ChatMessage[];

export interface GenerateRequest {
  readonly id?: SequenceId;
  readonly prompt: Prompt;
  /** What the chat template tells the model it can call; `params.responseFormat` makes it do so. Only with messages. */
  readonly tools?: readonly Tool[];
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

/** The order: logit bias and masks, penalties, temperature, top-k, top-p, min-p, draw. `DEFAULT_SAMPLING_PARAMS` is greedy. */
export interface SamplingParams {
  /** 0 to 2; 0, the default, takes the likeliest token. */
  readonly temperature: number;
  /** Only so many of the likeliest tokens; -1, the default, or 0: all. */
  readonly topK: number;
  /** Only the likeliest tokens that together have this probability, 0 to 1; default 1: all. */
  readonly topP: number;
  /** Only tokens at least this share as likely as the likeliest, 0 to 1; default 0: all. */
  readonly minP: number;
  /** Of output, at least 1; default 1024. The end of the context ends a request, too. */
  readonly maxTokens: number;
  /** Of output, before which no end token, stop token or stop string counts; default 0. */
  readonly minTokens: number;
  readonly ignoreEos: boolean;
  /** Above 0; divides the logits of what is in prompt or output (multiplies negative ones); default 1: off. */
  readonly repetitionPenalty: number;
  /** -2 to 2, off a token's logit for each time it is in the output; default 0. */
  readonly frequencyPenalty: number;
  /** -2 to 2, off a token's logit once it is in the output; default 0. */
  readonly presencePenalty: number;
  /** A safe integer; the same seed draws the same tokens, whoever the neighbours are. */
  readonly seed?: number;
  /** Texts that end the output and are not shown. */
  readonly stop: readonly string[];
  readonly stopTokenIds: readonly TokenId[];
  /** Added to logits, -100 to 100. */
  readonly logitBias?: ReadonlyMap<TokenId, number>;
  /** How many alternatives to report beside each chosen token, 0 to 20; absent: none, not even its own. */
  readonly logprobs?: number;
  /** Absent: any text. Such a sequence is not drafted for. */
  readonly responseFormat?: ResponseFormat;
}

/** `abort`: a deadline or a shutdown, with what there is. Unsubscribing and an AbortSignal give no result. */
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
  /** Absent: nothing was drafted. */
  readonly specDecode?: SpecDecodeMetrics;
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
