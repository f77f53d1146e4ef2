import type { SamplingParams, TokenId, TokenLogprobs } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { argmax } from './argmax.ts';
import { type Candidates, createCandidates, draw, exponentiate, takeAll } from './candidates.ts';
import { tokenLogprobs } from './logprobs.ts';
import { isGreedy } from './params.ts';
import { createPenalties } from './penalties.ts';
import { createRandom } from './random.ts';
import { keepMinP, keepTopP, takeTopK } from './truncate.ts';

export interface Sample {
  readonly id: TokenId;
  readonly logprobs?: TokenLogprobs;
}

/** Chooses the tokens of one sequence. */
export interface Sampler {
  /**
   * The token after `tokens`, prompt and output, which may only have grown since the last call. `logits` `[vocab]` are
   * left as they are.
   * @throws RxllmError `RXLLM_RUNTIME_FAILED` where no token has a probability.
   */
  sample(logits: Float32Array, tokens: readonly TokenId[], promptLength: number): Sample;
}

export interface SamplerOptions {
  /** Masked, with `stopTokenIds`, until the output has `minTokens`. */
  readonly eosIds: ReadonlySet<TokenId>;
  /** In [0, 1); asked once, for the seed of a request that brings none. */
  readonly random: () => number;
}

/**
 * A sampler in this order: logit bias and masks, penalties, temperature, top-k, top-p, min-p, draw. Greedy requests
 * stop after the penalties, and take the largest. Log-probabilities are of the logits before any of it.
 */
export function createSampler(params: SamplingParams, { eosIds, random }: SamplerOptions): Sampler {
  const { logitBias, logprobs, minTokens, stopTokenIds, temperature, topK, topP, minP } = params;
  const penalties = createPenalties(params);
  const greedy = isGreedy(params);
  const uniform = greedy ? undefined : createRandom(params.seed ?? Math.floor(random() * 2 ** 53));

  /** The logits after bias, masks and penalties: a copy, or themselves where nothing changes. */
  const adjust = (logits: Float32Array, tokens: readonly TokenId[], promptLength: number): Float32Array => {
    const isShort = tokens.length - promptLength < minTokens;
    if (!isShort && !logitBias && !penalties) return logits;
    const { adjusted } = workspaceFor(logits.length);
    adjusted.set(logits);
    if (logitBias) for (const [id, bias] of logitBias) adjusted[id]! += bias;
    if (isShort) {
      for (const id of eosIds) adjusted[id] = Number.NEGATIVE_INFINITY;
      for (const id of stopTokenIds) adjusted[id] = Number.NEGATIVE_INFINITY;
    }
    penalties?.apply(adjusted, tokens, promptLength);
    return adjusted;
  };

  const choose = (logits: Float32Array): TokenId => {
    if (!uniform) {
      const id = argmax(logits);
      if (id === -1) throw nothingToSample();
      return id;
    }
    const { candidates } = workspaceFor(logits.length);
    if (topK > 0 && topK < logits.length) takeTopK(candidates, logits, topK);
    else takeAll(candidates, logits);
    exponentiate(candidates, temperature);
    if (!(candidates.total > 0)) throw nothingToSample();
    if (topP < 1) keepTopP(candidates, topP);
    if (minP > 0) keepMinP(candidates, minP);
    return draw(candidates, uniform());
  };

  return {
    sample(logits, tokens, promptLength) {
      const id = choose(adjust(logits, tokens, promptLength));
      if (logprobs === undefined) return { id };
      return { id, logprobs: tokenLogprobs(logits, id, logprobs, workspaceFor(logits.length).candidates.scratch) };
    },
  };
}

function nothingToSample(): RxllmError {
  return new RxllmError(
    'RXLLM_RUNTIME_FAILED',
    'No token can be sampled: the logits are NaN or infinite, or every token is masked. Check the weights of the model.',
  );
}

interface Workspace {
  readonly adjusted: Float32Array;
  readonly candidates: Candidates;
}

/** Buffers by vocabulary size, for all samplers: sampling a token is synchronous, and nothing outlives it here. */
const workspaces = new Map<number, Workspace>();

function workspaceFor(vocab: number): Workspace {
  let workspace = workspaces.get(vocab);
  if (!workspace) {
    workspace = { adjusted: new Float32Array(vocab), candidates: createCandidates(vocab) };
    workspaces.set(vocab, workspace);
  }
  return workspace;
}
