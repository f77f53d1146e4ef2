import { of } from 'rxjs';
import type { Draft, ProposerSlot, SequenceId, TokenId } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';

export interface PromptLookupOptions {
  /** Fewest tokens at the end that must have stood before. Default 2. */
  readonly minNgram?: number;
  /** Most that are compared. Default 4. */
  readonly maxNgram?: number;
}

/**
 * Looks in the sequence itself for where its last tokens stood before, and proposes what followed there (prompt lookup
 * decoding, Saxena 2023). It costs next to nothing, and guesses well where a text repeats or quotes.
 * @throws RxllmError `RXLLM_OPTION_INVALID`
 */
export function promptLookup({ minNgram = 2, maxNgram = 4 }: PromptLookupOptions = {}): ProposerSlot {
  if (!Number.isInteger(minNgram) || minNgram < 1 || !Number.isInteger(maxNgram) || maxNgram < minNgram) {
    throw new RxllmError(
      'RXLLM_OPTION_INVALID',
      `minNgram, maxNgram: ${minNgram} and ${maxNgram} are not whole numbers with 1 <= minNgram <= maxNgram.`,
      { param: 'minNgram' },
    );
  }
  return () => ({
    propose(requests) {
      const drafts = new Map<SequenceId, Draft>();
      for (const { sequence, count } of requests) {
        const tokens = lookUp(sequence.tokens, count, minNgram, maxNgram);
        if (tokens.length > 0) drafts.set(sequence.id, { tokens });
      }
      return of(drafts);
    },
    retain() {},
  });
}

/** What followed the latest of the longest earlier matches of the end of `tokens`, at most `count` tokens. */
export function lookUp(tokens: readonly TokenId[], count: number, minNgram: number, maxNgram: number): TokenId[] {
  const end = tokens.length;
  let longest = minNgram - 1;
  let follows = 0;
  for (let at = end - 1; at >= minNgram && longest < maxNgram; at--) {
    let length = 0;
    while (length < maxNgram && length < at && tokens[at - 1 - length] === tokens[end - 1 - length]) length++;
    if (length <= longest) continue;
    longest = length;
    follows = at;
  }
  if (longest < minNgram) return [];
  // A match that overlaps the end is a cycle: the draft goes round in it.
  const drafted: TokenId[] = [];
  const period = end - follows;
  for (let i = 0; i < count; i++) drafted.push(tokens[follows + (i % period)]!);
  return drafted;
}
