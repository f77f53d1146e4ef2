import type { EngineOptions } from '../contracts/index.ts';
import { RxllmError } from '../errors.ts';

/** A step must have room for one token of each running sequence. @throws RxllmError `RXLLM_OPTION_INVALID` */
export function checkTokenBudget({
  maxNumBatchedTokens,
  maxNumSeqs,
}: Pick<EngineOptions, 'maxNumBatchedTokens' | 'maxNumSeqs'>): void {
  if (maxNumBatchedTokens >= maxNumSeqs) return;
  throw new RxllmError(
    'RXLLM_OPTION_INVALID',
    `maxNumBatchedTokens: ${maxNumBatchedTokens} is less than maxNumSeqs (${maxNumSeqs}), so that not every running ` +
      'sequence could decode in each step. Raise it, or lower maxNumSeqs.',
    { param: 'maxNumBatchedTokens' },
  );
}
