import type { PlannedRow, Sequence } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';
import { compare, type QueuePolicy } from './order.ts';
import { isReady, nextRow, type Policy } from './policy.ts';

export interface ContinuousBatchingOptions {
  /** Default: the engine's `maxNumSeqs`. */
  readonly maxNumSeqs?: number;
  /** Default: the engine's `maxNumBatchedTokens`. */
  readonly maxNumBatchedTokens?: number;
  readonly policy?: QueuePolicy;
  /** The longest chunk of a prompt in one step, so that a long one leaves room for others. Default: the budget. */
  readonly longPrefillTokenThreshold?: number;
}

/**
 * Each step is planned anew (Orca, 2022; vLLM v1): a budget of tokens goes to the rows that decode, then to prompts that
 * are under way, then to new ones, in chunks. Who has finished is gone, and who has arrived joins at once.
 */
export function continuousBatching(given: ContinuousBatchingOptions = {}): Policy {
  const { policy = 'fcfs', longPrefillTokenThreshold = Number.POSITIVE_INFINITY } = given;
  return (state) => {
    const { waiting, running, options } = state;
    const maxNumSeqs = given.maxNumSeqs ?? options.maxNumSeqs;
    let budget = given.maxNumBatchedTokens ?? options.maxNumBatchedTokens;
    if (budget < maxNumSeqs) {
      throw new RxllmError(
        'RXLLM_OPTION_INVALID',
        `maxNumBatchedTokens: ${budget} is less than maxNumSeqs (${maxNumSeqs}), so that not every running sequence ` +
          'could decode in each step. Raise it, or lower maxNumSeqs.',
        { param: 'maxNumBatchedTokens' },
      );
    }
    const rows: PlannedRow[] = [];
    const admitted: Sequence[] = [];
    const add = (sequence: Sequence) => {
      const row = nextRow(sequence, state, Math.min(budget, longPrefillTokenThreshold));
      budget -= row.newTokens;
      rows.push(row);
    };
    const isDecoding = (sequence: Sequence) => nextRow(sequence, state, 1).kind === 'decode';
    const ready = running.filter(isReady);
    for (const sequence of ready) if (isDecoding(sequence)) add(sequence);
    for (const sequence of ready) if (budget > 0 && !isDecoding(sequence)) add(sequence);
    const queue = policy === 'fcfs' ? waiting : [...waiting].sort((a, b) => compare(policy, a, b));
    for (const sequence of queue) {
      if (budget <= 0 || running.length + admitted.length >= maxNumSeqs) break;
      if (!isReady(sequence)) continue;
      admitted.push(sequence);
      add(sequence);
    }
    return { admitted, rows };
  };
}
