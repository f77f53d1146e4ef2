import type { TokenId } from '../contracts/index.ts';

/** The id of the largest of `logits` `[vocab]`, the lowest among equals; -1 where all are NaN or -Infinity. */
export function argmax(logits: Float32Array): TokenId {
  let best = Number.NEGATIVE_INFINITY;
  let id = -1;
  const whole = logits.length & ~7;
  // Eight at a time, without a count: a new best is rare, so one body that hardly ever runs serves eight logits.
  for (let i = 0; i < whole; i += 8) {
    if (
      logits[i]! > best ||
      logits[i + 1]! > best ||
      logits[i + 2]! > best ||
      logits[i + 3]! > best ||
      logits[i + 4]! > best ||
      logits[i + 5]! > best ||
      logits[i + 6]! > best ||
      logits[i + 7]! > best
    ) {
      for (let j = i; j < i + 8; j++) {
        if (logits[j]! > best) {
          best = logits[j]!;
          id = j;
        }
      }
    }
  }
  for (let i = whole; i < logits.length; i++) {
    if (logits[i]! > best) {
      best = logits[i]!;
      id = i;
    }
  }
  return id;
}
