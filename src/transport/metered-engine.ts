import { defer, type Observable, type Subscription, tap } from 'rxjs';
import type { Engine, EngineStats, GenerateResult, SpecDecodeMetrics, TokenEvent } from '../core/contracts/index.ts';
import type { EngineSource } from './engine-source.ts';
import type { Instruments, Labels } from './instruments.ts';

/** The engines that run, by their labels, the newest last. */
type Watched = Map<string, Engine[]>;

/** The same engines, their streams measured: who asks this source for one need not know of metrics. */
export function meteredSource(
  source: EngineSource,
  instruments: Instruments,
): EngineSource & { readonly stop: () => void } {
  const known = new WeakMap<Engine, Engine>();
  const watched: Watched = new Map();
  const watching = new Set<Subscription>();
  return {
    engine: () => {
      const engine = source.engine();
      if (engine === undefined) return undefined;
      let metered = known.get(engine);
      if (metered === undefined) {
        const labels = { model_name: engine.model.name, engine: engine.name };
        startCounters(instruments, labels);
        const subscription = watchStats(engine, instruments, labels, watched);
        const measure = measured(engine, instruments, labels, tokenTally(instruments, labels, subscription));
        watching.add(subscription);
        subscription.add(() => watching.delete(subscription));
        metered = { ...engine, stream: (request) => defer(() => measure(engine.stream(request))) };
        known.set(engine, metered);
      }
      return metered;
    },
    stop: () => {
      for (const subscription of watching) subscription.unsubscribe();
    },
  };
}

/** Counters begin with 0, so that the first requests show as a rise. */
function startCounters(instruments: Instruments, labels: Labels): void {
  const { promptTokens, generationTokens, preemptions, prefixQueries, prefixHits, requests } = instruments;
  for (const counter of [promptTokens, generationTokens, preemptions, prefixQueries, prefixHits])
    counter.inc(labels, 0);
  for (const finished_reason of ['stop', 'length', 'abort']) requests.inc({ ...labels, finished_reason }, 0);
}

/** The gauges show what a step left behind. */
function setGauges({ running, waiting, kvUsage }: Instruments, labels: Labels, stats?: EngineStats): void {
  running.set(labels, stats ? stats.running + stats.paused : 0);
  waiting.set(labels, stats?.waiting ?? 0);
  kvUsage.set(labels, stats && stats.blocksTotal > 0 ? stats.blocksUsed / stats.blocksTotal : 0);
}

/**
 * Gauges are gone with their engine. While one replaces another of the same name, `watched` has both under their
 * common labels, and the gauges are the newer one's. What came of drafts is counted on. A step leaves only its stats
 * behind: they are put into the instruments when these are read.
 */
function watchStats(engine: Engine, instruments: Instruments, labels: Labels, watched: Watched): Subscription {
  const { running, waiting, kvUsage, prefixQueries, prefixHits, beforeRead } = instruments;
  const key = JSON.stringify(labels);
  const same = watched.get(key) ?? [];
  watched.set(key, same);
  same.push(engine);
  setGauges(instruments, labels);
  let latest: EngineStats | undefined;
  let seen = { queries: 0, hits: 0 };
  const countDrafts = draftCounter(instruments, labels);
  const update = () => {
    if (latest === undefined) return;
    const { prefixCache, specDecode } = latest;
    prefixQueries.inc(labels, prefixCache.queries - seen.queries);
    prefixHits.inc(labels, prefixCache.hits - seen.hits);
    seen = prefixCache;
    if (specDecode) countDrafts(specDecode);
    if (same.at(-1) === engine) setGauges(instruments, labels, latest);
    latest = undefined;
  };
  const forget = () => {
    update();
    beforeRead.delete(update);
    same.splice(same.indexOf(engine), 1);
    if (same.length > 0) return;
    for (const gauge of [running, waiting, kvUsage]) gauge.remove(labels);
  };
  beforeRead.add(update);
  const subscription = engine.stats$.subscribe({
    next: (stats) => {
      latest = stats;
    },
    error: forget,
    complete: forget,
  });
  subscription.add(() => beforeRead.delete(update));
  return subscription;
}

/** Counts what the engine's sums have grown by since the last call. */
function draftCounter({ drafts, draftTokens, acceptedTokens, acceptedPerPosition }: Instruments, labels: Labels) {
  let before: SpecDecodeMetrics | undefined;
  return (sums: SpecDecodeMetrics) => {
    drafts.inc(labels, sums.drafts - (before?.drafts ?? 0));
    draftTokens.inc(labels, sums.tokensProposed - (before?.tokensProposed ?? 0));
    acceptedTokens.inc(labels, sums.tokensAccepted - (before?.tokensAccepted ?? 0));
    for (const [position, accepted] of sums.acceptedPerPosition.entries()) {
      acceptedPerPosition.inc({ ...labels, position }, accepted - (before?.acceptedPerPosition[position] ?? 0));
    }
    before = sums;
  };
}

/** The most intervals that are kept until they are observed: about half a millisecond's work. */
const MAX_KEPT = 1024;

interface TokenTally {
  count(tokens: number): void;
  /** Milliseconds between two tokens of a request. */
  interval(ms: number): void;
}

/** The figures of each token: kept as numbers, for an instrument takes longer than all else that is done for a token. */
function tokenTally(
  { interToken, generationTokens, beforeRead }: Instruments,
  labels: Labels,
  life: Subscription,
): TokenTally {
  const between = interToken.labels(labels);
  const intervals: number[] = [];
  let tokens = 0;
  const update = () => {
    if (tokens > 0) generationTokens.inc(labels, tokens);
    for (const ms of intervals) between.observe(ms / 1000);
    tokens = 0;
    intervals.length = 0;
  };
  beforeRead.add(update);
  life.add(() => {
    update();
    beforeRead.delete(update);
  });
  return {
    count: (more) => {
      tokens += more;
    },
    interval: (ms) => {
      if (intervals.push(ms) >= MAX_KEPT) update();
    },
  };
}

/** Measures one request at each call, from its events alone, on the engine's clock. */
function measured({ options: { clock } }: Engine, instruments: Instruments, labels: Labels, tally: TokenTally) {
  return (events: Observable<TokenEvent>): Observable<TokenEvent> => {
    let arrivedAt = 0;
    let lastTokenAt: number | undefined;
    let queued = false;
    let prefilled = false;
    let tokens = 0;
    const ended = (reason: string) => {
      queued = false;
      instruments.requests.inc({ ...labels, finished_reason: reason });
    };
    const observe = (event: TokenEvent) => {
      switch (event.type) {
        case 'queued':
          queued = true;
          break;
        case 'prefill':
          if (prefilled || event.computed < event.total) break;
          prefilled = true;
          instruments.promptTokens.inc(labels, event.total);
          break;
        case 'preempted':
          instruments.preemptions.inc(labels);
          break;
        case 'token': {
          const now = clock.now();
          if (lastTokenAt === undefined) instruments.firstToken.observe(labels, (now - arrivedAt) / 1000);
          else tally.interval(now - lastTokenAt);
          lastTokenAt = now;
          tokens += 1;
          tally.count(1);
          break;
        }
        case 'finished':
          instruments.endToEnd.observe(labels, (clock.now() - arrivedAt) / 1000);
          observeResult(event.result, instruments, labels);
          // An engine that is one box gives no events between the first and the last.
          if (!prefilled && event.result.outputIds.length > 0) {
            instruments.promptTokens.inc(labels, event.result.metrics.inputTokens);
          }
          if (event.result.outputIds.length > tokens) tally.count(event.result.outputIds.length - tokens);
          ended(event.result.finishReason);
      }
    };
    return events.pipe(
      tap({
        subscribe: () => {
          arrivedAt = clock.now();
        },
        next: observe,
        error: () => {
          // What was refused at the door never was a request.
          if (queued) ended('error');
        },
        finalize: () => {
          if (queued) ended('abort');
        },
      }),
    );
  };
}

function observeResult({ metrics }: GenerateResult, instruments: Instruments, labels: Labels): void {
  const { inputTokens, outputTokens, ttftMs, tpotMs, queueMs } = metrics;
  instruments.promptLength.observe(labels, inputTokens);
  instruments.generationLength.observe(labels, outputTokens);
  if (queueMs !== undefined) instruments.queueTime.observe(labels, queueMs / 1000);
  if (queueMs !== undefined && ttftMs > 0) instruments.prefillTime.observe(labels, (ttftMs - queueMs) / 1000);
  if (tpotMs === 0) return;
  instruments.tokenTime.observe(labels, tpotMs / 1000);
  instruments.decodeTime.observe(labels, (tpotMs * (outputTokens - 1)) / 1000);
}
