import type { Distribution, EngineContext, Sequence, TokenId } from '../contracts/index.ts';
import { type Candidates, draw } from '../sampling/candidates.ts';
import { isGreedy } from '../sampling/params.ts';
import { samplerOf } from '../sampling/sampler-of.ts';
import { createTokenDistribution } from '../sampling/token-distribution.ts';

/** A drafted token, from the draft model's `logits` `[vocab]` after `text`, in which `drafted` tokens were drafted before. */
export type DraftChooser = (
  logits: Float32Array,
  text: readonly TokenId[],
  drafted: number,
) => {
  readonly id: TokenId;
  /** What it was drawn from; absent where the target will not need it. */
  readonly from?: Distribution;
};

/**
 * Chooses as the request does, so that the target is likely to choose the same: greedily, or under its temperature, top-k
 * and so on. For a request with a seed it draws with the very numbers that the target will draw with, for others with
 * `random`, in [0, 1).
 */
export function createDraftChooser(sequence: Sequence, context: EngineContext, random: () => number): DraftChooser {
  const { params, promptLength } = sequence;
  const distribution = createTokenDistribution(params, context.model.tokenizer.eosIds);
  if (isGreedy(params)) return (logits, text) => ({ id: distribution.likeliest(logits, text, promptLength) });
  const sampler = samplerOf(sequence, context);
  return (logits, text, drafted) => {
    const candidates = distribution.candidates(logits, text, promptLength);
    if (sampler.isReproducible) return { id: draw(candidates, sampler.peek(drafted)) };
    return { id: draw(candidates, random()), from: normalized(candidates) };
  };
}

function normalized({ ids, weights, count, total }: Candidates): Distribution {
  return { ids: ids.slice(0, count), probabilities: weights.slice(0, count).map((weight) => weight / total) };
}
