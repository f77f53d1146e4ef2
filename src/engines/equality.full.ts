import { testEquality } from '../../test/support/equality.ts';

testEquality();
