import type { FastifyInstance, FastifyReply } from 'fastify';
import { BehaviorSubject, filter, firstValueFrom, type Observable, race, timer } from 'rxjs';
import { RxllmError } from '../core/errors.ts';
import { replyClosed } from './client-gone.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Refuses new requests with 503 from now on, and waits until those under way have ended, `graceMs` at most. */
    drain(graceMs: number): Promise<void>;
    /** Whether `drain` was called, now and when it changes: for what stays open between requests. */
    readonly draining$: Observable<boolean>;
  }
}

/** Adds `app.drain`. The port stays open meanwhile: a load balancer sees the 503 on `/health`. */
export function addDraining(app: FastifyInstance): void {
  const underWay$ = new BehaviorSubject(0);
  const draining$ = new BehaviorSubject(false);

  const refuse = (reply: FastifyReply) => {
    if (!draining$.value) return;
    reply.header('connection', 'close');
    throw new RxllmError('RXLLM_ENGINE_CLOSED', 'The server is shutting down; send the request elsewhere.');
  };
  app.addHook('onRequest', async (_request, reply) => refuse(reply));
  // Its body has arrived by now: one that never does holds up nothing.
  app.addHook('preValidation', async (_request, reply) => {
    refuse(reply);
    underWay$.next(underWay$.value + 1);
    replyClosed(reply.raw).subscribe(() => underWay$.next(underWay$.value - 1));
  });
  app.decorate('draining$', draining$.asObservable());
  app.decorate('drain', async (graceMs: number) => {
    if (!draining$.value) draining$.next(true);
    await firstValueFrom(race(underWay$.pipe(filter((count) => count === 0)), timer(graceMs)));
  });
}
