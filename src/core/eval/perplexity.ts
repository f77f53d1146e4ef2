import type { ModelRunner, TokenId } from '../contracts/index.ts';
import { logSumExp } from './log-sum-exp.ts';
import { windowLogits, windowsOf } from './window-logits.ts';

export interface Perplexity {
  readonly perplexity: number;
  /** Nats. */
  readonly nllPerToken: number;
  readonly tokens: number;
  readonly scoredTokens: number;
}

/**
 * exp of the mean negative log-likelihood over consecutive windows, each scored on its own from its second token on, as
 * `models/goldens/perplexity.json` defines it. The runner's pool is `windowPool(window)`.
 */
export async function perplexity(
  runner: ModelRunner,
  ids: readonly TokenId[],
  window: number,
  onWindow: () => void = () => {},
): Promise<Perplexity> {
  let nll = 0;
  let scoredTokens = 0;
  for (const part of windowsOf(ids, window)) {
    for await (const { targets, logits } of windowLogits(runner, part)) {
      for (const [row, target] of targets.entries()) {
        const values = logits.data.subarray(row * logits.vocab, (row + 1) * logits.vocab);
        nll += logSumExp(values) - values[target]!;
      }
      scoredTokens += targets.length;
    }
    onWindow();
  }
  const nllPerToken = nll / scoredTokens;
  return { perplexity: Math.exp(nllPerToken), nllPerToken, tokens: ids.length, scoredTokens };
}
