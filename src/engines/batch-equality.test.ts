import { testBatchEquality } from '../../test/support/batch-equality.ts';

/**
 * With a seed only what is not the same code as without one: the batches of one policy, the largest over paged memory, and
 * each way of being preempted. `batch-equality.full.ts` has all, and `flash-attention` with as many requests.
 */
testBatchEquality({ repeats: false });
