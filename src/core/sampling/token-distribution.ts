import type { GrammarMatcher, SamplingParams, TokenId } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { argmax } from './argmax.ts';
import { type Candidates, createCandidates, exponentiate, takeAll } from './candidates.ts';
import { allowsOther, applyMask } from './mask.ts';
import { createPenalties } from './penalties.ts';
import { keepMinP, keepTopP, takeTopK } from './truncate.ts';

/** What a request's parameters make of logits `[vocab]`, which are left as they are. Nothing here is random. */
export interface TokenDistribution {
  /**
   * The token after `tokens`, prompt and output, which may only have grown since the last call.
   * @throws RxllmError `RXLLM_RUNTIME_FAILED` where no token has a probability.
   */
  likeliest(logits: Float32Array, tokens: readonly TokenId[], promptLength: number): TokenId;
  /** The tokens that may follow `tokens`, with their weights; valid until the next call for this vocabulary. */
  candidates(logits: Float32Array, tokens: readonly TokenId[], promptLength: number): Candidates;
}

/** In this order: logit bias and masks, penalties; for candidates then temperature, top-k, top-p, min-p. */
export function createTokenDistribution(
  params: SamplingParams,
  eosIds: ReadonlySet<TokenId>,
  grammar?: GrammarMatcher,
): TokenDistribution {
  const { logitBias, minTokens, stopTokenIds, temperature, topK, topP, minP } = params;
  const penalties = createPenalties(params);
  const ending = new Set([...eosIds, ...stopTokenIds]);

  /** The logits after bias, masks and penalties: a copy, or themselves where nothing changes. */
  const adjust = (logits: Float32Array, tokens: readonly TokenId[], promptLength: number): Float32Array => {
    const isShort = tokens.length - promptLength < minTokens;
    if (!isShort && !logitBias && !penalties && !grammar) return logits;
    const { adjusted } = workspaceFor(logits.length);
    adjusted.set(logits);
    if (logitBias) for (const [id, bias] of logitBias) adjusted[id]! += bias;
    const mask = grammar?.mask();
    if (mask) applyMask(adjusted, mask);
    // A text that its grammar ends has no more to say, however short it is.
    if (isShort && (!mask || allowsOther(mask, ending))) {
      for (const id of ending) adjusted[id] = Number.NEGATIVE_INFINITY;
    }
    penalties?.apply(adjusted, tokens, promptLength);
    return adjusted;
  };

  return {
    likeliest(logits, tokens, promptLength) {
      const id = argmax(adjust(logits, tokens, promptLength));
      if (id === -1) throw nothingToSample();
      return id;
    },
    candidates(logits, tokens, promptLength) {
      const adjusted = adjust(logits, tokens, promptLength);
      const { candidates } = workspaceFor(logits.length);
      if (topK > 0 && topK < logits.length) takeTopK(candidates, adjusted, topK);
      else takeAll(candidates, adjusted);
      exponentiate(candidates, temperature);
      if (!(candidates.total > 0)) throw nothingToSample();
      if (topP < 1) keepTopP(candidates, topP);
      if (minP > 0) keepMinP(candidates, minP);
      return candidates;
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

export function workspaceFor(vocab: number): Workspace {
  let workspace = workspaces.get(vocab);
  if (!workspace) {
    workspace = { adjusted: new Float32Array(vocab), candidates: createCandidates(vocab) };
    workspaces.set(vocab, workspace);
  }
  return workspace;
}
