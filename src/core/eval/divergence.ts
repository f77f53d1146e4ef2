import type { ModelRunner, TokenId } from '../contracts/index.ts';
import { logSumExp } from './log-sum-exp.ts';
import { windowLogits, windowsOf } from './window-logits.ts';

export interface Divergence {
  /** Mean KL(reference ‖ other) of the next-token distributions, in nats. */
  readonly meanKl: number;
  /** Of `other`. */
  readonly perplexity: number;
}

/** How far another model is from the reference over all scored positions. Both pools are `windowPool(window)`. */
export async function divergence(
  reference: ModelRunner,
  other: ModelRunner,
  ids: readonly TokenId[],
  window: number,
): Promise<Divergence> {
  let kl = 0;
  let nll = 0;
  let positions = 0;
  for (const part of windowsOf(ids, window)) {
    const others = windowLogits(other, part);
    for await (const { targets, logits: p } of windowLogits(reference, part)) {
      const { logits: q } = (await others.next()).value!;
      const row = ({ data, vocab }: typeof p, index: number) => data.subarray(index * vocab, (index + 1) * vocab);
      for (const [index, target] of targets.entries()) {
        const values = row(q, index);
        kl += klDivergence(row(p, index), values);
        nll += logSumExp(values) - values[target]!;
      }
      positions += targets.length;
    }
  }
  return { meanKl: kl / positions, perplexity: Math.exp(nll / positions) };
}

/** KL(p ‖ q) of the softmax of two rows of logits, in nats. */
export function klDivergence(p: Float32Array, q: Float32Array): number {
  const logP = logSumExp(p);
  const logQ = logSumExp(q);
  let sum = 0;
  for (let i = 0; i < p.length; i++) {
    const log = p[i]! - logP;
    sum += Math.exp(log) * (log - (q[i]! - logQ));
  }
  return sum;
}
