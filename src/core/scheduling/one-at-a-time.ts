import { isReady, nextRow, type Policy } from './policy.ts';

export interface OneAtATimeOptions {
  /** Prompt tokens a step; a smaller chunk lets a cancelled prompt stop sooner. Default: `maxNumBatchedTokens`. */
  readonly prefillChunk?: number;
}

/** First come, first served, and each request alone until it ends (chapters 2 to 4). */
export function oneAtATime({ prefillChunk }: OneAtATimeOptions = {}): Policy {
  return (state) => {
    const current = state.running[0];
    const next = current ?? state.waiting.find(isReady);
    if (next === undefined || !isReady(next)) return { admitted: [], rows: [] };
    const row = nextRow(next, state, prefillChunk ?? state.options.maxNumBatchedTokens);
    return { admitted: current ? [] : [next], rows: [row] };
  };
}
