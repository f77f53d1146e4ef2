import { randomUUID } from 'node:crypto';
import { freemem } from 'node:os';
import { Observable } from 'rxjs';
import { performanceClock } from '../core/clock.ts';
import type { EngineOptions, Model } from '../core/contracts/index.ts';
import { RxllmError } from '../core/errors.ts';
import { BYTES_PER_MIB, kvBytesPerToken } from '../core/memory/kv-bytes.ts';
import { checkTokenBudget } from '../core/scheduling/check-token-budget.ts';

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
  const defaults = {
    maxQueue: 256,
    maxModelLen: model.config.maxPositions,
    blockSize: 16,
    maxNumSeqs: 8,
    // Room for a token of each sequence.
    maxNumBatchedTokens: Math.max(512, given.maxNumSeqs ?? 0),
    maxPauseMs: 10_000,
    clock: performanceClock,
    random: Math.random,
    newId: randomUUID,
    betweenSteps: nextImmediate,
  };
  checkNames(given, [...Object.keys(defaults), 'kvCacheMemoryMiB']);
  const options = { ...defaults, ...given };
  positiveInteger('maxQueue', options.maxQueue);
  positiveInteger('maxModelLen', options.maxModelLen, model.config.maxPositions);
  positiveInteger('blockSize', options.blockSize, model.config.maxPositions);
  positiveInteger('maxNumSeqs', options.maxNumSeqs);
  positiveInteger('maxNumBatchedTokens', options.maxNumBatchedTokens);
  positiveInteger('maxPauseMs', options.maxPauseMs);
  checkTokenBudget(options);
  const { kvCacheMemoryMiB = defaultKvMemory(model, options) } = given;
  positiveInteger('kvCacheMemoryMiB', kvCacheMemoryMiB);
  return { ...options, kvCacheMemoryMiB };
}

/** A name that is misspelt would change nothing. */
function checkNames(given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const message = `There is no engine option "${unknown}"; there is ${known.join(', ')}.`;
  throw new RxllmError('RXLLM_OPTION_INVALID', message, { param: unknown });
}

/** MiB: what all sequences at their full length take, but at most a quarter of the memory that is free. */
function defaultKvMemory({ config }: Model, { maxNumSeqs, maxModelLen }: Omit<EngineOptions, 'kvCacheMemoryMiB'>) {
  const wanted = Math.ceil((maxNumSeqs * maxModelLen * kvBytesPerToken(config)) / BYTES_PER_MIB);
  const free = Math.min(freemem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / BYTES_PER_MIB;
  return Math.max(1, Math.min(wanted, Math.floor(free / 4)));
}

function positiveInteger(name: keyof EngineOptions, value: number, max = Number.MAX_SAFE_INTEGER): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw new RxllmError('RXLLM_OPTION_INVALID', `${name}: ${value} is not a whole number from 1 to ${max}.`, {
    param: name,
  });
}
