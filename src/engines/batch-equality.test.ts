import { testBatchEquality } from '../../test/support/batch-equality.ts';

/**
 * With a seed only what is not the same code as without one: the largest batch over each kind of memory, and each way of
 * being preempted; `batch-equality.full.ts` has every batch.
 */
testBatchEquality({ repeats: false });
