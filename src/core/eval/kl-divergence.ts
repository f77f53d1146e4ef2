import type { ModelRunner, TokenId } from '../contracts/index.ts';
import { logSumExp } from './log-sum-exp.ts';
import { windowLogits, windowsOf } from './window-logits.ts';

/** Mean KL(reference ‖ other) of the next-token distributions over all scored positions, in nats. Both pools are `windowPool(window)`. */
export async function meanKlDivergence(
  reference: ModelRunner,
  other: ModelRunner,
  ids: readonly TokenId[],
  window: number,
): Promise<number> {
  let sum = 0;
  let positions = 0;
  for (const part of windowsOf(ids, window)) {
    const others = windowLogits(other, part);
    for await (const { targets, logits: p } of windowLogits(reference, part)) {
      const { logits: q } = (await others.next()).value!;
      for (let row = 0; row < targets.length; row++) {
        const at = (data: Float32Array) => data.subarray(row * p.vocab, (row + 1) * p.vocab);
        sum += klDivergence(at(p.data), at(q.data));
      }
      positions += targets.length;
    }
  }
  return sum / positions;
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
