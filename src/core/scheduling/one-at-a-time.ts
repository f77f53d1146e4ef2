import { nextRow, type Policy } from './policy.ts';

export interface OneAtATimeOptions {
  /** Prompt tokens a step; a smaller chunk lets a cancelled prompt stop sooner. */
  readonly prefillChunk?: number;
}

/** First come, first served, and each request alone until it ends (chapters 1 to 4). */
export function oneAtATime({ prefillChunk = 512 }: OneAtATimeOptions = {}): Policy {
  return (state) => {
    const current = state.running[0];
    const next = current ?? state.waiting[0];
    if (next === undefined) return { admitted: [], rows: [] };
    return { admitted: current ? [] : [next], rows: [nextRow(next, state, prefillChunk)] };
  };
}
