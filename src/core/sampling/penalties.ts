import type { SamplingParams, TokenId } from '../contracts/index.ts';

export interface Penalties {
  /** Changes `logits` `[vocab]` in place. `tokens` may only have grown since the last call. */
  apply(logits: Float32Array, tokens: readonly TokenId[], promptLength: number): void;
}

/**
 * Penalties for tokens that the text already has. Repetition is Hugging Face's, over prompt and output: a positive
 * logit is divided by it, a negative one multiplied. Frequency and presence are OpenAI's, over the output alone:
 * subtracted for each occurrence, and once. Undefined where none of them has an effect.
 */
export function createPenalties(params: SamplingParams): Penalties | undefined {
  const { repetitionPenalty, frequencyPenalty, presencePenalty } = params;
  if (repetitionPenalty === 1 && frequencyPenalty === 0 && presencePenalty === 0) return undefined;
  // Tokens seen, each once, and how often the output has them: a call looks only at the tokens that are new to it.
  const ids: TokenId[] = [];
  const outputCounts: number[] = [];
  const indexOf = new Map<TokenId, number>();
  let seen = 0;

  const count = (id: TokenId, occurrences: 0 | 1) => {
    const index = indexOf.get(id);
    if (index !== undefined) {
      outputCounts[index]! += occurrences;
    } else {
      indexOf.set(id, ids.length);
      ids.push(id);
      outputCounts.push(occurrences);
    }
  };

  return {
    apply(logits, tokens, promptLength) {
      for (; seen < tokens.length; seen++) count(tokens[seen]!, seen < promptLength ? 0 : 1);
      for (let i = 0; i < ids.length; i++) {
        const id = ids[i]!;
        const occurrences = outputCounts[i]!;
        let logit = logits[id]!;
        logit = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
        if (occurrences > 0) logit -= frequencyPenalty * occurrences + presencePenalty;
        logits[id] = logit;
      }
    },
  };
}
