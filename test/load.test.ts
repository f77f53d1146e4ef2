import { loadTest } from './support/load.ts';

/** Each of the streams once, and no times: those of a full run are in load.full.ts. */
loadTest({ seconds: 0, isMeasured: false });
