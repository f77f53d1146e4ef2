import type {
  EngineOptions,
  PlannedRow,
  SamplingParams,
  Sequence,
  SequenceId,
  Settled,
  StepStage,
  TokenEvent,
  TokenId,
} from '../contracts/index.ts';

/** The options that a replay needs to plan the same steps. */
export type RecordedOptions = Pick<
  EngineOptions,
  'maxQueue' | 'maxModelLen' | 'kvCacheMemoryMiB' | 'blockSize' | 'maxNumSeqs' | 'maxNumBatchedTokens' | 'maxPauseMs'
>;

/** What an engine was told and what it decided, a JSON line each. A change stands before the step that first sees it. */
export type RecordLine =
  | {
      readonly type: 'engine';
      readonly engine: string;
      readonly model: string;
      readonly seed: number;
      readonly options: RecordedOptions;
      /** How the weights were rounded while they were loaded; absent: as they are. */
      readonly quantize?: string;
      /** The folder of the model that drafted, where one was chosen. */
      readonly draftModel?: string;
    }
  | { readonly type: 'arrive'; readonly request: RecordedRequest }
  /** `during`: while the next step's forward passes ran. */
  | { readonly type: 'cancel' | 'abort'; readonly id: SequenceId; readonly during: boolean }
  | { readonly type: 'pause'; readonly id: SequenceId; readonly at: number }
  | { readonly type: 'resume'; readonly id: SequenceId }
  /** The mask of a sequence that was `late` is there. */
  | { readonly type: 'mask'; readonly id: SequenceId }
  | ({ readonly type: 'step'; readonly index: number; readonly now: number } & RecordedStep);

export interface RecordedStep {
  /** The stage in which it ended with an error: it has neither rows nor events. */
  readonly failed?: StepStage;
  readonly rows: readonly (readonly [SequenceId, PlannedRow['kind'], number])[];
  readonly preempted: readonly SequenceId[];
  /** Absent: none. */
  readonly late?: readonly SequenceId[];
  readonly events: readonly (readonly [SequenceId, readonly TokenEvent[]])[];
}

export interface RecordedRequest {
  readonly id: SequenceId;
  readonly arrivedAt: number;
  readonly tokens: readonly TokenId[];
  readonly params: Omit<SamplingParams, 'logitBias'> & { readonly logitBias?: readonly (readonly [TokenId, number])[] };
  readonly priority?: number;
  readonly cacheSalt?: string;
  /** Whose prompt it shares. */
  readonly parent?: SequenceId;
}

export function recordedOptions(options: EngineOptions): RecordedOptions {
  const { maxQueue, maxModelLen, kvCacheMemoryMiB, blockSize, maxNumSeqs, maxNumBatchedTokens, maxPauseMs } = options;
  return { maxQueue, maxModelLen, kvCacheMemoryMiB, blockSize, maxNumSeqs, maxNumBatchedTokens, maxPauseMs };
}

export function recordedRequest(sequence: Sequence): RecordedRequest {
  const { id, arrivedAt, tokens, promptLength, params, request, parent } = sequence;
  const { logitBias, ...rest } = params;
  return {
    id,
    arrivedAt,
    tokens: tokens.slice(0, promptLength),
    params: logitBias ? { ...rest, logitBias: [...logitBias] } : rest,
    ...(request.priority === undefined ? {} : { priority: request.priority }),
    ...(request.cacheSalt === undefined ? {} : { cacheSalt: request.cacheSalt }),
    ...(parent === undefined ? {} : { parent: parent.id }),
  };
}

/** What a step decided and told, without times, so that two runs of it can be compared. */
export function recordedStep({ rows, preempted, late, events }: Settled): RecordedStep {
  return {
    rows: rows.map(({ sequence: { id }, kind, newTokens }) => [id, kind, newTokens]),
    preempted: preempted.map(({ id }) => id),
    ...(late.size > 0 && { late: [...late] }),
    events: [...events].map(([id, told]) => [id, told.map(withoutTimes)]),
  };
}

function withoutTimes(event: TokenEvent): TokenEvent {
  if (event.type !== 'finished') return event;
  const metrics = { ...event.result.metrics, throughput: 0, ttftMs: 0, tpotMs: 0 };
  return { type: 'finished', result: { ...event.result, metrics } };
}
