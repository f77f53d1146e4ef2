import type { Engine, FinishReason, GenerateRequest, TokenLogprobs } from '../core/contracts/index.ts';

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
  closing(reason: FinishReason): object;
  whole(text: string, logprobs: readonly TokenLogprobs[] | undefined, reason: FinishReason): object;
}

/** One HTTP request: a generation for each choice, ordered by prompt. */
export interface Job {
  readonly engine: Engine;
  readonly dialect: Dialect;
  readonly requests: readonly GenerateRequest[];
  readonly choicesPerPrompt: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Seconds since 1970. */
  readonly created: number;
}
