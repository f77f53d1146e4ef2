import type { Engine, FinishReason, GenerateRequest, TokenLogprobs, ToolCall } from '../../core/contracts/index.ts';
import type { CallPart } from './tool-call-parser.ts';

/** How one of OpenAI's two endpoints words a choice; everything else about a reply is the same for both. */
export interface Dialect {
  readonly idPrefix: string;
  readonly object: string;
  readonly chunkObject: string;
  /** The field that brought the prompt, which an engine's errors call `prompt`. */
  readonly promptField: string;
  /** The first chunk of a choice, where the endpoint has one. */
  readonly opening?: object;
  /** `offset`: characters of this choice that were sent before. */
  piece(text: string, logprobs: readonly TokenLogprobs[] | undefined, offset: number): object;
  /** A piece of a tool call, where the endpoint has them. */
  callPiece?(part: CallPart, logprobs: readonly TokenLogprobs[] | undefined): object;
  closing(reason: WireFinishReason): object;
  whole(said: Said, logprobs: readonly TokenLogprobs[] | undefined, reason: WireFinishReason): object;
}

export type WireFinishReason = FinishReason | 'tool_calls';

/** All of a choice. */
export interface Said {
  readonly text: string;
  readonly calls: readonly ToolCall[];
}

/** One HTTP request: a generation for each choice, ordered by prompt. */
export interface Job {
  readonly engine: Engine;
  readonly dialect: Dialect;
  readonly requests: readonly GenerateRequest[];
  /** For each of them, what stands before its text. */
  readonly echoes?: readonly string[];
  readonly choicesPerPrompt: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Seconds since 1970. */
  readonly created: number;
}
