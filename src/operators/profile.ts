import { defer, finalize, type MonoTypeOperatorFunction, type Observable, type OperatorFunction, tap } from 'rxjs';
import type { ForwardBatch, Observer, Planned, RuntimeSlot, StepStage, Tick } from '../core/contracts/index.ts';
import { onEach } from '../core/on-each.ts';
import { type Span, type StageTime, Timeline } from '../core/profiling/timeline.ts';

export type { StageTime };

/** The loop between two steps: readers get what is theirs, the event loop serves its timers and sockets. */
const BETWEEN_STEPS = 'between steps';
/** The loop had nothing to plan. */
const ASLEEP = 'asleep';
const FORWARD_PASS = 'forward pass';

export interface Profile {
  /** Stands behind each stage of a recipe: `observe(recipe, profile.observer)`. Waiting between steps is a stage, too. */
  readonly observer: Observer;
  /** Stands between any two operators; what is in front of it, as far as the last one, is the stage of this name. */
  stage<T>(name: string): MonoTypeOperatorFunction<T>;
  /** The operator as a stage of its own, which may run in the middle of another. */
  timed<I, O>(name: string, operator: OperatorFunction<I, O>): OperatorFunction<I, O>;
  /** The slot with its forward passes as parts of the stage that asks for them. */
  runtime(slot: RuntimeSlot, passes?: PassObserver): RuntimeSlot;
  /** Forgets what was, and counts from now on; by default from the first item. */
  start(): void;
  stages(): readonly StageTime[];
}

export interface PassObserver {
  began?(batch: ForwardBatch): void;
  /** `ms` from the call to the logits. */
  ended?(batch: ForwardBatch, ms: number): void;
}

/**
 * Where time goes, from the stream itself: each item that passes says that what came before it is done. Every moment is
 * counted once, so that the stages' own times add up to the time that went by.
 *
 *     schedule  profile  allocate  profile  prefill         profile
 *     --s-------s--------a---------a--------(forward pass)p-p------
 *               ^ schedule: now − tick.now  ^ prefill: total with the pass, self without it
 *
 * Times are on `clock`, in milliseconds; by default the engine's, and before there is one `performance`'s.
 */
export function profile(clock?: { now(): number }): Profile {
  const timeline = new Timeline();
  let time = clock ?? performance;
  let isAsleep = true;

  const passing = (tick: Tick, stage: StepStage) => {
    if (stage === 'schedule') {
      if (timeline.isRunning) timeline.pass(isAsleep ? ASLEEP : BETWEEN_STEPS, tick.now);
      else timeline.start(tick.now);
      const { rows, preempted } = tick as Planned;
      isAsleep = rows.length === 0 && preempted.length === 0;
    }
    timeline.pass(stage, time.now());
  };

  return {
    observer: <T extends Tick>(context: Parameters<Observer>[0], stage: StepStage) => {
      time = clock ?? context.options.clock;
      return onEach<T>((tick) => passing(tick, stage));
    },
    stage: (name) => tap(() => timeline.pass(name, time.now())),
    timed: (name, operator) => (source) =>
      defer(() => {
        let span: Span | undefined;
        const end = () => span && timeline.end(span, time.now());
        return source.pipe(
          tap(() => {
            span = timeline.begin(name, time.now(), { apart: true });
          }),
          operator,
          ended(end),
        );
      }),
    runtime:
      (slot, passes = {}) =>
      async (graph, model, pool) => {
        const runner = await slot(graph, model, pool);
        return {
          config: runner.config,
          description: runner.description,
          forward: (batch) =>
            defer(() => {
              passes.began?.(batch);
              const span = timeline.begin(FORWARD_PASS, time.now());
              return runner.forward(batch).pipe(
                tap(() => passes.ended?.(batch, time.now() - span.startedAt)),
                ended(() => timeline.end(span, time.now())),
              );
            }),
          copyBlocks: (copies) => runner.copyBlocks(copies),
          dispose: () => runner.dispose(),
        };
      },
    start: () => timeline.start(time.now()),
    stages: () => timeline.stages(),
  };
}

/** Told before an item is passed on, for what is behind it is somebody else's work, and however the stream ends. */
const ended =
  <T>(end: () => void): MonoTypeOperatorFunction<T> =>
  (source: Observable<T>) =>
    source.pipe(tap(end), finalize(end));
