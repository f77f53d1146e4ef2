import { testGoldensOnRunners } from './support/goldens-on-runners.ts';

testGoldensOnRunners(() => 64);
