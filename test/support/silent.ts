import { pino } from 'pino';

/** Where a server is to fail, the log of which is not what is looked at. */
export const silent = pino({ level: 'silent' });
