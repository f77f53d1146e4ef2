import type { FastifyInstance } from 'fastify';
import { HttpError } from './errors.ts';

/** As Node looks for it. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Answers 417 (RFC 9110, 10.1.1) to an `Expect` that is not understood, which Node would answer without a body. */
export function refuseExpectations(app: FastifyInstance): void {
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.addHook('onRequest', async ({ headers: { expect } }) => {
    if (expect === undefined || CONTINUE.test(expect)) return;
    const message = `Expect: only "100-continue" is understood, not ${JSON.stringify(expect)}; leave the header out.`;
    throw new HttpError(417, 'expectation_failed', message);
  });
}
