import { testGoldensOnRunners } from './support/goldens-on-runners.ts';

/** `goldens-on-runners.full.ts` has all 64 ids of the larger model, whose engines have them in `equality.test.ts`. */
testGoldensOnRunners((model) => (model === 'storyteller-draft' ? 64 : 16));
