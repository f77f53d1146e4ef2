import {
  BehaviorSubject,
  concatMap,
  defer,
  finalize,
  first,
  from,
  ignoreElements,
  NEVER,
  type Observable,
  of,
  tap,
  throwError,
  timer,
} from 'rxjs';
import type {
  Engine,
  EngineStats,
  FinishReason,
  GenerateRequest,
  GenerateResult,
  Model,
  TokenEvent,
  TokenLogprobs,
} from '../../src/core/contracts/index.ts';
import { TAGGED_CALL } from '../../src/core/text/tool-call-form.ts';
import { fakeConfig, fakeOptions } from './fakes.ts';

/** What a scripted stream does next. */
export type Step =
  | TokenEvent
  | { readonly type: 'wait'; readonly ms: number }
  | { readonly type: 'hang' }
  | { readonly type: 'fail'; readonly error: unknown };

export interface FakeEngine extends Engine {
  readonly requests: readonly GenerateRequest[];
  /** Streams that were unsubscribed before they ended. */
  readonly cancelled: number;
  readonly active: number;
  readonly closed: boolean;
  /** Token events handed out by all streams. */
  readonly tokens: number;
}

export interface FakeEngineOptions {
  readonly generationDefaults?: Model['generationDefaults'];
  readonly maxModelLen?: number;
}

/** An engine without a model: each stream replays `script(request)`, pausing while its reader has no demand. */
export function fakeEngine(
  script: (request: GenerateRequest) => Iterable<Step>,
  { generationDefaults = {}, maxModelLen = 64 }: FakeEngineOptions = {},
): FakeEngine {
  const state = { requests: [] as GenerateRequest[], cancelled: 0, active: 0, closed: false, tokens: 0 };
  const stream = (request: GenerateRequest): Observable<TokenEvent> =>
    defer(() => {
      state.requests.push(request);
      state.active += 1;
      let ended = false;
      const end = () => {
        ended = true;
      };
      const demand$ = request.demand$ ?? of(true);
      return from(script(request)).pipe(
        concatMap((step) =>
          demand$.pipe(
            first(Boolean),
            concatMap(() => play(step)),
          ),
        ),
        tap({
          next: (event) => {
            if (event.type === 'token') state.tokens += 1;
          },
          error: end,
          complete: end,
        }),
        finalize(() => {
          state.active -= 1;
          if (!ended) state.cancelled += 1;
        }),
      );
    });
  return {
    name: 'fake',
    model: textModel(generationDefaults),
    options: fakeOptions({ maxModelLen }),
    pool: { layout: 'paged', blocks: 101, blockSize: 16 },
    description: 'scripted',
    stream,
    generate: async () => {
      throw new Error('the transport streams');
    },
    generateBatch: async () => {
      throw new Error('the transport streams');
    },
    stats$: new BehaviorSubject<EngineStats>({
      waiting: 0,
      running: 0,
      paused: 0,
      blocksUsed: 0,
      blocksTotal: 0,
      prefixCache: { queries: 0, hits: 0 },
      promptTokensPerS: 0,
      outputTokensPerS: 0,
      step: 0,
    }),
    watch: () => NEVER,
    close: async () => {
      state.closed = true;
    },
    get requests() {
      return state.requests;
    },
    get cancelled() {
      return state.cancelled;
    },
    get active() {
      return state.active;
    },
    get closed() {
      return state.closed;
    },
    get tokens() {
      return state.tokens;
    },
  };
}

function play(step: Step): Observable<TokenEvent> {
  switch (step.type) {
    case 'wait':
      return timer(step.ms).pipe(ignoreElements());
    case 'hang':
      return NEVER;
    case 'fail':
      return throwError(() => step.error);
    default:
      return of(step);
  }
}

/** The script of a reply in these pieces, one token each; a token's id is the first character's code. */
export function say(
  pieces: readonly string[],
  finish: {
    readonly reason?: FinishReason;
    readonly inputTokens?: number;
    readonly logprobs?: readonly TokenLogprobs[];
  } = {},
): Step[] {
  const ids = pieces.map((piece) => piece.charCodeAt(0));
  const inputTokens = finish.inputTokens ?? 3;
  const result: GenerateResult = {
    text: pieces.join(''),
    outputIds: ids,
    finishReason: finish.reason ?? 'stop',
    metrics: { throughput: 12.345, inputTokens, outputTokens: ids.length, ttftMs: 5.128, tpotMs: 0 },
  };
  return [
    { type: 'queued', position: 0 },
    { type: 'prefill', computed: inputTokens, cached: 0, total: inputTokens },
    ...pieces.map((text, index): Step => {
      const logprobs = finish.logprobs?.[index];
      return { type: 'token', id: ids[index]!, text, ...(logprobs && { logprobs }) };
    }),
    { type: 'finished', result },
  ];
}

/** Tokens are characters. */
function textModel(generationDefaults: Model['generationDefaults']): Model {
  const decode = (ids: readonly number[]) => String.fromCharCode(...ids);
  return {
    name: 'fake-model',
    directory: 'fake-model',
    config: fakeConfig({ vocab: 256 }),
    tokenizer: {
      encode: (text) => [...text].map((character) => character.charCodeAt(0)),
      decode,
      tokenText: (id) => decode([id]),
      toolCallForm: TAGGED_CALL,
      vocabulary: () => ({ tokens: [], encoding: 'raw' }),
      applyChatTemplate: (messages) => messages.map(({ content }) => content).join('\n'),
      decoder: () => ({ push: (id) => decode([id]), flush: () => '' }),
      vocabSize: 256,
      eosIds: new Set([2]),
    },
    weights: new Map(),
    generationDefaults,
  };
}
