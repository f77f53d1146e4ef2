import type { GrammarMatcher, SamplingParams, TokenId, TokenLogprobs } from '../contracts/index.ts';
import { type Candidates, draw } from './candidates.ts';
import { tokenLogprobs } from './logprobs.ts';
import { isGreedy } from './params.ts';
import { createRandom } from './random.ts';
import { createTokenDistribution, workspaceFor } from './token-distribution.ts';

export interface Sample {
  readonly id: TokenId;
  readonly logprobs?: TokenLogprobs;
}

/** Chooses the tokens of one sequence. */
export interface Sampler {
  /** Its choices follow from the logits and the request alone: it is greedy, or has a seed of its own. */
  readonly isReproducible: boolean;
  /**
   * The token after `tokens`, prompt and output, which may only have grown since the last call. `logits` `[vocab]` are
   * left as they are.
   * @throws RxllmError `RXLLM_RUNTIME_FAILED` where no token has a probability.
   */
  sample(logits: Float32Array, tokens: readonly TokenId[], promptLength: number): Sample;
  /** What `sample` would draw from, for one that is not greedy; valid until the next call for this vocabulary. */
  candidates(logits: Float32Array, tokens: readonly TokenId[], promptLength: number): Candidates;
  /** The token as a sample, under the `logits` that it was chosen from. */
  describe(id: TokenId, logits: Float32Array): Sample;
  /** The next number in [0, 1): of a sampler that is not greedy. */
  uniform(): number;
  /** The number that the draw after `skipped` others will use, which stays to be used. */
  peek(skipped: number): number;
}

export interface SamplerOptions {
  /** Masked, with `stopTokenIds`, until the output has `minTokens`. */
  readonly eosIds: ReadonlySet<TokenId>;
  /** In [0, 1); asked once, for the seed of a request that brings none. */
  readonly random: () => number;
  /** It must be ready when a token is sampled, and is told of each. */
  readonly grammar?: GrammarMatcher;
}

/**
 * A sampler in this order: logit bias and masks, penalties, temperature, top-k, top-p, min-p, draw. Greedy requests
 * stop after the penalties, and take the largest. Log-probabilities are of the logits before any of it.
 */
export function createSampler(params: SamplingParams, { eosIds, random, grammar }: SamplerOptions): Sampler {
  const { logprobs, seed } = params;
  const distribution = createTokenDistribution(params, eosIds, grammar);
  const greedy = isGreedy(params);
  const next = greedy ? () => 0 : createRandom(seed ?? Math.floor(random() * 2 ** 53));
  const ahead: number[] = [];
  const uniform = () => ahead.shift() ?? next();

  const describe = (id: TokenId, logits: Float32Array): Sample => {
    if (logprobs === undefined) return { id };
    return { id, logprobs: tokenLogprobs(logits, id, logprobs, workspaceFor(logits.length).candidates.scratch) };
  };

  return {
    isReproducible: greedy || seed !== undefined,
    candidates: distribution.candidates,
    describe,
    uniform,
    peek(skipped) {
      while (ahead.length <= skipped) ahead.push(next());
      return ahead[skipped]!;
    },
    sample(logits, tokens, promptLength) {
      const id = greedy
        ? distribution.likeliest(logits, tokens, promptLength)
        : draw(distribution.candidates(logits, tokens, promptLength), uniform());
      grammar?.accept(id);
      return describe(id, logits);
    },
  };
}
