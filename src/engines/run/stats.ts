import { map, type OperatorFunction } from 'rxjs';
import type { EngineContext, EngineStats, Settled } from '../../core/contracts/index.ts';
import { DraftCounts, verified } from '../../core/speculation/draft-counts.ts';

/** Rates are over the last second of the engine's clock, the current step included. */
const WINDOW_MS = 1000;

/** What the engine holds and does, a value a step. */
export function toStats({ waiting, running, kv }: EngineContext): OperatorFunction<Settled, EngineStats> {
  const recent: { readonly at: number; readonly prompt: number; readonly output: number }[] = [];
  /** Where the window begins in `recent`: to shift a long array is to move all of it. */
  let first = 0;
  // Kept, not summed anew: a small model takes hundreds of steps a second.
  const sum = { prompt: 0, output: 0 };
  const drafts = new DraftCounts();
  return map((step) => {
    const { prompt, output } = countTokens(step);
    recent.push({ at: step.now, prompt, output });
    sum.prompt += prompt;
    sum.output += output;
    while (recent[first]!.at <= step.now - WINDOW_MS) {
      const past = recent[first++]!;
      sum.prompt -= past.prompt;
      sum.output -= past.output;
    }
    if (2 * first > recent.length) {
      recent.splice(0, first);
      first = 0;
    }
    for (const [, proposed, accepted] of verified(step)) drafts.add(proposed, accepted);
    const specDecode = drafts.metrics();
    const paused = running.reduce((count, { phase }) => count + (phase === 'paused' ? 1 : 0), 0);
    return {
      waiting: waiting.length,
      running: running.length - paused,
      paused,
      blocksUsed: kv.used,
      blocksTotal: kv.total,
      prefixCache: kv.prefixCache,
      promptTokensPerS: (sum.prompt * 1000) / WINDOW_MS,
      outputTokensPerS: (sum.output * 1000) / WINDOW_MS,
      step: step.index,
      ...(specDecode && { specDecode }),
    };
  });
}

function countTokens({ rows, produced }: Settled): { prompt: number; output: number } {
  let prompt = 0;
  for (const row of rows) if (row.kind === 'prefill') prompt += row.newTokens;
  let output = 0;
  for (const ids of produced.values()) output += ids.length;
  return { prompt, output };
}
