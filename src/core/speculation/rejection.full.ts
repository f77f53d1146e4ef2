import { testRejectionSampling } from '../../../test/support/rejection-sampling.ts';

testRejectionSampling({ seeds: 20 });
