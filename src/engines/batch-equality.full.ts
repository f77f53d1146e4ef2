import { testBatchEquality } from '../../test/support/batch-equality.ts';

testBatchEquality({ repeats: true });
