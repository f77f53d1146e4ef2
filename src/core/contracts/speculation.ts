import type { Observable } from 'rxjs';
import type { EngineContext } from './engine.ts';
import type { SequenceId, TokenId } from './request.ts';
import type { Sequence } from './step.ts';

/** Probabilities of the tokens that have any, by ascending id. They add up to 1. */
export interface Distribution {
  readonly ids: Int32Array;
  readonly probabilities: Float64Array;
}

/** Tokens that may come next, cheaply guessed. */
export interface Draft {
  readonly tokens: readonly TokenId[];
  /** What each of them was drawn from; absent: `verify` takes each as the only token that could be proposed. */
  readonly distributions?: readonly Distribution[];
}

export interface DraftRequest {
  readonly sequence: Sequence;
  /** Tokens wanted, at least 1. */
  readonly count: number;
}

/** Guesses tokens for sequences of one engine. It may keep keys and values of its own for each. */
export interface Proposer {
  /**
   * Cold; emits once and completes. No draft where it has no idea, or no memory. An error costs the drafts of this step and
   * nothing else; completing without a value ends the step with `RXLLM_RECIPE_INVALID`. The step waits for the answer; where
   * that takes over a second and a sequence of the batch was cancelled or has to end, the step goes on without drafts.
   */
  propose(requests: readonly DraftRequest[]): Observable<ReadonlyMap<SequenceId, Draft>>;
  /** Gives back what it keeps for any other sequence. */
  retain(sequences: ReadonlySet<Sequence>): void;
}

export type ProposerSlot = (context: EngineContext) => Proposer;

/** How many drafted tokens were accepted so far. */
export interface SpecDecodeMetrics {
  /** Rounds of drafting and verifying. */
  readonly drafts: number;
  readonly tokensProposed: number;
  readonly tokensAccepted: number;
  /** Accepted of those proposed, 0 to 1; all behind a rejected token count as rejected. */
  readonly acceptanceRate: number;
  /** How many drafts had their first token accepted, their second, … */
  readonly acceptedPerPosition: readonly number[];
  /** Tokens that a verify pass gives on average, the target's own included: 1 + accepted / drafts. */
  readonly meanAcceptedLength: number;
}
