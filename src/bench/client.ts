import type { Observable } from 'rxjs';
import type { FinishReason, Prompt, SamplingParams } from '../core/contracts/index.ts';

/** One request of a measurement. */
export interface BenchRequest {
  readonly prompt: Prompt;
  readonly params: BenchParams;
}

/** The sampling parameters that every server knows by the same names. */
export type BenchParams = Pick<SamplingParams, 'maxTokens' | 'temperature' | 'ignoreEos'> &
  Partial<Pick<SamplingParams, 'seed'>>;

/** What a client sees of a reply. `at` is in milliseconds on the client's clock. */
export type ClientEvent =
  /** Something of the output arrived: a token in process, over HTTP as many as one event of the stream brings. */
  | { readonly type: 'piece'; readonly at: number }
  /** The counts are the server's own. */
  | {
      readonly type: 'finished';
      readonly at: number;
      readonly inputTokens: number;
      readonly outputTokens: number;
      readonly finishReason: FinishReason;
    };

/** In process and over HTTP a request is sent and timed alike. */
export interface BenchClient {
  readonly clock: { now(): number };
  /** Cold: a subscription sends the request, unsubscribing cancels it. */
  send(request: BenchRequest): Observable<ClientEvent>;
}
