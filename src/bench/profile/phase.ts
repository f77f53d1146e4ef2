import type { ForwardBatch, KvLayout } from '../../core/contracts/index.ts';

export type Phase = 'prefill' | 'decode';

/**
 * Whether a pass goes beyond the prompts, which all have `promptTokens` tokens. With a cache a decoding row starts behind
 * its prompt; without one it is longer.
 */
export function phaseOf(
  { ids, positions }: Pick<ForwardBatch, 'ids' | 'positions'>,
  layout: KvLayout,
  promptTokens: number,
): Phase {
  const isBeyond = (tokens: readonly unknown[], row: number) =>
    layout === 'none' ? tokens.length > promptTokens : positions[row]! >= promptTokens;
  return ids.some(isBeyond) ? 'decode' : 'prefill';
}
