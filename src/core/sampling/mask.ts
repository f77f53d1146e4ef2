import type { TokenId, TokenMask } from '../contracts/index.ts';

/** Leaves of `logits` `[vocab]` those of the mask. */
export function applyMask(logits: Float32Array, mask: TokenMask): void {
  for (let word = 0, id = 0; id < logits.length; word++) {
    const bits = mask[word] ?? 0;
    const end = Math.min(id + 32, logits.length);
    if (bits === 0) logits.fill(Number.NEGATIVE_INFINITY, id, end);
    else if (bits !== -1) {
      for (let at = id; at < end; at++) if (((bits >>> (at - id)) & 1) === 0) logits[at] = Number.NEGATIVE_INFINITY;
    }
    id = end;
  }
}

/** Whether the mask has a token that is none of these. */
export function allowsOther(mask: TokenMask, ids: ReadonlySet<TokenId>): boolean {
  const rest = mask.slice();
  for (const id of ids) rest[id >> 5]! &= ~(1 << (id & 31));
  return rest.some((bits) => bits !== 0);
}
