import { concatMap, EMPTY, ignoreElements, Observable, of, Subject, type Subscriber, Subscription, take } from 'rxjs';
import type {
  EngineContext,
  EngineStats,
  GenerateRequest,
  GenerateResult,
  OpaqueRecipe,
  TokenEvent,
} from '../../core/contracts/index.ts';
import { engineClosed } from '../../core/engine-closed.ts';
import { ABORTED } from './aborted.ts';
import { deadline } from './deadline.ts';
import { queueFull } from './queue-full.ts';
import type { RunningEngine } from './running-engine.ts';

interface Job {
  readonly request: GenerateRequest;
  readonly reader: Subscriber<TokenEvent>;
}

/** An opaque recipe: requests go through its box one at a time. A reader hears `queued` and `finished`, nothing between. */
export function runBox(recipe: OpaqueRecipe, context: EngineContext): RunningEngine {
  const { clock, maxQueue, betweenSteps } = context.options;
  const box = recipe.box(context);
  /** Waiting or running; a job leaves when its reader does. */
  const jobs = new Set<Job>();
  const job$ = new Subject<Job>();
  const stats$ = new Subject<EngineStats>();
  let running: Job | undefined;
  let ended = 0;
  let closed = false;

  const waiting = () => jobs.size - (running !== undefined && jobs.has(running) ? 1 : 0);
  const publish = (outputTokensPerS: number) =>
    stats$.next({
      waiting: waiting(),
      running: running ? 1 : 0,
      paused: 0,
      blocksUsed: 0,
      blocksTotal: 0,
      prefixCache: { queries: 0, hits: 0 },
      promptTokensPerS: 0,
      outputTokensPerS,
      step: ended,
    });

  const run = (job: Job) =>
    new Observable<never>((done) => {
      let throughput = 0;
      running = job;
      publish(throughput);
      job.reader.add(() => done.complete());
      const life = of(job.request)
        .pipe(box)
        .subscribe({
          next: (result) => {
            throughput = result.metrics.throughput;
            finish(job, result);
          },
          error: (error: unknown) => job.reader.error(error),
        });
      life.add(() => {
        running = undefined;
        ended += 1;
        publish(throughput);
      });
      return life;
    });

  // Every turn starts off the stack of the one before it, as in the loop of the staged engines.
  const turn = (job: Job) =>
    betweenSteps().pipe(
      take(1),
      concatMap(() => (jobs.has(job) ? run(job) : EMPTY)),
    );
  const turning = job$.pipe(concatMap(turn)).subscribe();

  const stream = (request: GenerateRequest) =>
    new Observable<TokenEvent>((reader) => {
      if (closed) throw engineClosed();
      const overdue$ = deadline(request, clock);
      const position = waiting();
      if (position >= maxQueue) throw queueFull(position);
      const job: Job = { request, reader };
      const life = new Subscription(() => jobs.delete(job));
      life.add(overdue$.subscribe(() => finish(job, ABORTED)));
      jobs.add(job);
      reader.next({ type: 'queued', position });
      job$.next(job);
      return life;
    });

  return {
    stream,
    stats$,
    watch: () => stats$.pipe(ignoreElements()),
    stop: async () => {
      closed = true;
      for (const job of [...jobs]) finish(job, ABORTED);
      turning.unsubscribe();
      stats$.complete();
    },
  };
}

function finish({ reader }: Job, result: GenerateResult): void {
  reader.next({ type: 'finished', result });
  reader.complete();
}
