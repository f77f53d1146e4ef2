import type { Subscription } from 'rxjs';
import type { Instruments, Labels } from './instruments.ts';

/** The most intervals that are kept until they are observed: about half a millisecond's work. */
const MAX_KEPT = 1024;

export interface TokenTally {
  count(tokens: number): void;
  /** Milliseconds between two tokens of a request. */
  interval(ms: number): void;
}

/** The figures of each token: kept as numbers, for an instrument takes longer than all else that is done for a token. */
export function tokenTally(
  { interToken, generationTokens, beforeRead }: Instruments,
  labels: Labels,
  life: Subscription,
): TokenTally {
  const between = interToken.labels(labels);
  const intervals: number[] = [];
  let tokens = 0;
  const update = () => {
    if (tokens > 0) generationTokens.inc(labels, tokens);
    for (const ms of intervals) between.observe(ms / 1000);
    tokens = 0;
    intervals.length = 0;
  };
  beforeRead.add(update);
  life.add(() => {
    update();
    beforeRead.delete(update);
  });
  return {
    count: (more) => {
      tokens += more;
    },
    interval: (ms) => {
      if (intervals.push(ms) >= MAX_KEPT) update();
    },
  };
}
