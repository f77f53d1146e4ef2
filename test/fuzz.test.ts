import { fuzz } from './support/fuzz.ts';

/** `fuzz.full.ts` has more, of another seed each time. */
fuzz({ cases: 100, seed: 20 });
