import type { TokenId, TokenLogprob, TokenLogprobs } from '../contracts/index.ts';
import { precedes, selectTop } from './select-top.ts';

/** What stands for the logarithm of a probability of 0 (OpenAI's number): JSON has no -Infinity. */
const LEAST_LOGPROB = -9999;

/**
 * Log-probabilities of `id` and of the `top` likeliest tokens, likeliest first, under the softmax of the raw `logits`
 * `[vocab]`. All are finite. `scratch` is `[vocab]`.
 */
export function tokenLogprobs(logits: Float32Array, id: TokenId, top: number, scratch: Int32Array): TokenLogprobs {
  const normalizer = logSumExp(logits);
  const logprobOf = (token: TokenId): TokenLogprob => ({
    id: token,
    logprob: Math.max(logits[token]! - normalizer, LEAST_LOGPROB),
  });
  const count = Math.min(top, logits.length);
  if (count === 0) return { ...logprobOf(id), top: [] };
  selectTop(logits, count, scratch);
  const ids = Array.from(scratch.subarray(0, count)).sort((a, b) => (precedes(logits, a, b) ? -1 : 1));
  return { ...logprobOf(id), top: ids.map(logprobOf) };
}

function logSumExp(logits: Float32Array): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < logits.length; i++) if (logits[i]! > largest) largest = logits[i]!;
  let sum = 0;
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i]! - largest);
  return largest + Math.log(sum);
}
