import { NEVER, type SchedulerLike, timer } from 'rxjs';
import type {
  Detokenized,
  EngineContext,
  EngineOptions,
  GenerateRequest,
  ModelRunner,
  PlannedRow,
  Sequence,
} from '../../src/core/contracts/index.ts';
import { contiguousSlots } from '../../src/core/memory/contiguous-slots.ts';
import { createSequence } from '../../src/operators/tokenize.ts';
import { letters, toyConfig, toyModel } from './toy-model.ts';

const idle: ModelRunner = {
  config: toyConfig,
  description: 'idle',
  forward: () => NEVER,
  copyBlocks: () => {},
  dispose: () => Promise.resolve(),
};

/** Options whose time is the scheduler's: a step starts a frame after the one before it. */
export function virtualOptions(scheduler: SchedulerLike): EngineOptions {
  let count = 0;
  return {
    maxQueue: 8,
    maxModelLen: 64,
    kvCacheMemoryMiB: 1,
    blockSize: 16,
    maxNumSeqs: 4,
    maxNumBatchedTokens: 16,
    maxPauseMs: 100,
    clock: scheduler,
    random: () => 0.5,
    newId: () => `s${count++}`,
    betweenSteps: () => timer(1, scheduler),
  };
}

/** A context for one operator alone. */
export function operatorContext(scheduler: SchedulerLike, parts: Partial<EngineContext> = {}): EngineContext {
  const options = virtualOptions(scheduler);
  return {
    options,
    model: toyModel,
    runner: idle,
    kv: contiguousSlots({ slots: 2 })(toyModel, options),
    waiting: [],
    running: [],
    owned: [],
    ...parts,
  };
}

/** A sequence that runs, with `computed` of its tokens in the cache. */
export function runningSequence(
  context: EngineContext,
  {
    prompt = 'abc',
    output = '',
    computed = 0,
    ...request
  }: Partial<GenerateRequest> & {
    readonly prompt?: string;
    readonly output?: string;
    readonly computed?: number;
  } = {},
): Sequence {
  const sequence = createSequence({ ...request, prompt }, letters(prompt), context);
  sequence.tokens.push(...letters(output));
  sequence.computed = computed;
  sequence.phase = 'running';
  context.running.push(sequence);
  return sequence;
}

/** A step as it stands before `settle`, with nothing in it but what is given. */
export function emptyStep(parts: Partial<Detokenized> = {}): Detokenized {
  return {
    index: 0,
    now: 0,
    rows: [],
    preempted: [],
    deferred: [],
    wakeAt: Number.POSITIVE_INFINITY,
    ended: [],
    reservations: new Map(),
    logits: new Map(),
    drafts: new Map(),
    accepted: new Map(),
    produced: new Map(),
    logprobs: new Map(),
    failed: new Map(),
    late: new Set(),
    text: new Map(),
    ...parts,
  };
}

export const decodeRow = (sequence: Sequence): PlannedRow => ({ sequence, kind: 'decode', newTokens: 1 });
export const prefillRow = (sequence: Sequence, newTokens = sequence.promptLength): PlannedRow => ({
  sequence,
  kind: 'prefill',
  newTokens,
});
