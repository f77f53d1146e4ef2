import type { FastifyPluginAsync } from 'fastify';
import {
  BehaviorSubject,
  concat,
  defer,
  distinctUntilChanged,
  filter,
  finalize,
  map,
  type Observable,
  of,
  startWith,
  switchMap,
  takeUntil,
  timer,
  withLatestFrom,
} from 'rxjs';
import type { Engine } from '../../core/contracts/index.ts';
import { type EngineSource, readyEngine } from '../engine-source.ts';
import { HttpError } from '../errors.ts';
import { sendEvents } from '../openai/sse.ts';
import { adminOnly } from './admin-only.ts';
import { toEngineMessage, toFrameMessages } from './frame-messages.ts';
import type { ObserveMessage } from './observe-messages.ts';

/** Between two frames, and between two looks at which engine serves. */
const FRAME_MS = 100;
const MAX_OBSERVERS = 16;

interface ObserveOptions {
  readonly source: EngineSource;
  readonly hasApiKey: boolean;
}

/**
 * `GET /admin/observe`: server-sent events that show the engine that serves, step by step; `observe-messages.ts` has
 * them. Nothing is taken from an engine that nobody observes, and a client that is behind misses steps.
 */
export const observe: FastifyPluginAsync<ObserveOptions> = async (app, { source, hasApiKey }) => {
  app.addHook('onRequest', adminOnly(hasApiKey));
  let observers = 0;
  // Without HEAD: a stream without a body would never end.
  app.get('/admin/observe', { exposeHeadRoute: false }, async (_request, reply) => {
    readyEngine(source);
    if (observers >= MAX_OBSERVERS) {
      throw new HttpError(429, 'too_many_observers', `${MAX_OBSERVERS} clients observe already; close one of them.`);
    }
    observers += 1;
    const demand$ = new BehaviorSubject(true);
    const messages$ = observed(source, demand$).pipe(
      takeUntil(app.draining$.pipe(filter(Boolean))),
      finalize(() => {
        observers -= 1;
      }),
    );
    await sendEvents(reply, messages$, demand$);
  });
};

function observed(source: EngineSource, demand$: BehaviorSubject<boolean>): Observable<ObserveMessage> {
  return timer(0, FRAME_MS).pipe(
    map(() => source.engine()),
    filter((engine) => engine !== undefined),
    distinctUntilChanged(),
    switchMap((engine) => concat(of(toEngineMessage(engine)), frames(engine, demand$))),
  );
}

function frames(engine: Engine, demand$: BehaviorSubject<boolean>): Observable<ObserveMessage> {
  return defer(() => {
    const stats$ = engine.stats$.pipe(startWith(undefined));
    return engine.watch(FRAME_MS).pipe(
      filter(() => demand$.value),
      withLatestFrom(stats$),
      toFrameMessages(),
    );
  });
}
