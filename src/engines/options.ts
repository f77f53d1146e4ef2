import { randomUUID } from 'node:crypto';
import { asyncScheduler, Observable } from 'rxjs';
import type { EngineOptions, Model } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';

/** Emits once the event loop has served its timers and I/O, so that a busy engine never starves sockets. */
const nextImmediate = (): Observable<void> =>
  new Observable((subscriber) => {
    const handle = setImmediate(() => {
      subscriber.next();
      subscriber.complete();
    });
    return () => clearImmediate(handle);
  });

/** The given options over the defaults. @throws RxllmError `RXLLM_OPTION_INVALID` */
export function resolveOptions(model: Model, given: Partial<EngineOptions>): EngineOptions {
  const options: EngineOptions = {
    maxQueue: 256,
    maxModelLen: model.config.maxPositions,
    kvCacheMemoryMiB: 512,
    maxNumSeqs: 8,
    maxNumBatchedTokens: 512,
    maxPauseMs: 10_000,
    // Date.now has whole milliseconds, which is longer than a step.
    clock: { now: () => performance.now(), schedule: asyncScheduler.schedule.bind(asyncScheduler) },
    random: Math.random,
    newId: randomUUID,
    betweenSteps: nextImmediate,
    ...given,
  };
  positiveInteger('maxQueue', options.maxQueue, Number.MAX_SAFE_INTEGER);
  positiveInteger('maxModelLen', options.maxModelLen, model.config.maxPositions);
  positiveInteger('kvCacheMemoryMiB', options.kvCacheMemoryMiB, Number.MAX_SAFE_INTEGER);
  positiveInteger('maxNumSeqs', options.maxNumSeqs, Number.MAX_SAFE_INTEGER);
  positiveInteger('maxNumBatchedTokens', options.maxNumBatchedTokens, Number.MAX_SAFE_INTEGER);
  positiveInteger('maxPauseMs', options.maxPauseMs, Number.MAX_SAFE_INTEGER);
  return options;
}

function positiveInteger(name: keyof EngineOptions, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw new RxllmError('RXLLM_OPTION_INVALID', `${name}: ${value} is not a whole number from 1 to ${max}.`, {
    param: name,
  });
}
