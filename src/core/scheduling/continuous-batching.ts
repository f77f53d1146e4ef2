import type { PlannedRow, Sequence } from '../contracts/index.ts';
import { checkTokenBudget } from './check-token-budget.ts';
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
 * are under way, then to new ones, in chunks. Sequences leave when they finish and join when they arrive.
 */
export function continuousBatching(given: ContinuousBatchingOptions = {}): Policy {
  const { policy = 'fcfs', longPrefillTokenThreshold = Number.POSITIVE_INFINITY } = given;
  return (state) => {
    const { waiting, running, options } = state;
    const maxNumSeqs = given.maxNumSeqs ?? options.maxNumSeqs;
    let budget = given.maxNumBatchedTokens ?? options.maxNumBatchedTokens;
    checkTokenBudget({ maxNumBatchedTokens: budget, maxNumSeqs });
    const rows: PlannedRow[] = [];
    const admitted: Sequence[] = [];
    const rowOf = (sequence: Sequence) => nextRow(sequence, state, Math.min(budget, longPrefillTokenThreshold));
    const add = (row: PlannedRow) => {
      budget -= row.newTokens;
      rows.push(row);
    };
    const prefilling: Sequence[] = [];
    for (const sequence of running) {
      if (!isReady(sequence)) continue;
      const row = rowOf(sequence);
      if (row.kind === 'decode') add(row);
      else prefilling.push(sequence);
    }
    for (const sequence of prefilling) if (budget > 0) add(rowOf(sequence));
    const queue = policy === 'fcfs' ? waiting : [...waiting].sort((a, b) => compare(policy, a, b));
    for (const sequence of queue) {
      if (budget <= 0 || running.length + admitted.length >= maxNumSeqs) break;
      if (!isReady(sequence)) continue;
      admitted.push(sequence);
      add(rowOf(sequence));
    }
    return { admitted, rows };
  };
}
