import type { AttentionKernel, AttentionStrategy } from './attention.ts';
import { extend, rotary } from './rotary.ts';

/**
 * No cache: a batch holds whole sequences, right-padded, and a token sees those before it in its row. Padding needs no
 * mask of its own: it stands behind every real token.
 */
export const noCacheAttention =
  (kernel: AttentionKernel): AttentionStrategy =>
  (g, config) => {
    const rope = rotary(g, config);
    const width = g.op('Gather', [rope.rectangle, g.int64(1)]);
    const attend = kernel(g, config, rope, width);
    const byHead = extend(g, rope.rectangle, config.kvHeads, config.headDim);
    const headsFirst = (x: string) => g.op('Transpose', [g.op('Reshape', [x, byHead])], { perm: [0, 2, 1, 3] });
    return {
      attend(_layer, qkv) {
        const { q, k, v } = rope.rotate(qkv);
        return attend(q, headsFirst(k), headsFirst(v));
      },
      finish() {},
    };
  };
