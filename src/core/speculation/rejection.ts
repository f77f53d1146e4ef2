import type { Distribution, TokenId } from '../contracts/index.ts';
import { type Candidates, draw } from '../sampling/candidates.ts';

/**
 * The rule of speculative sampling (Leviathan et al. 2023, Chen et al. 2023). A token that was drawn from `drafted` with
 * probability q, and to which `target` gives p, is accepted with probability min(1, p/q); in place of a rejected one,
 * another is drawn from max(0, p − q). What comes out is distributed as `target`, whatever `drafted` is. Without `drafted`,
 * q is 1. Returns the token itself if and only if it is accepted. `target` is overwritten.
 */
export function acceptOrReplace(
  target: Candidates,
  token: TokenId,
  drafted: Distribution | undefined,
  uniform: () => number,
): TokenId {
  const { ids, weights, count, total } = target;
  const drafts = drafted ?? { ids: [token], probabilities: [1] };
  let at = 0;
  let p = 0;
  let q = 0;
  let rest = 0;
  // Both are in the order of ids: one walk finds p and q of the token and leaves the rest of each weight.
  const left = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const id = ids[i]!;
    while (at < drafts.ids.length && drafts.ids[at]! < id) at++;
    const probability = at < drafts.ids.length && drafts.ids[at] === id ? drafts.probabilities[at]! : 0;
    if (id === token) {
      p = weights[i]!;
      q = probability * total;
    }
    left[i] = Math.max(0, weights[i]! - probability * total);
    rest += left[i]!;
  }
  if (p > 0 && uniform() * q < p) return token;
  // Nothing is left where the two differ by rounding alone: then the target itself is as good.
  if (rest > 0) {
    weights.set(left);
    target.total = rest;
  }
  return draw(target, uniform());
}
