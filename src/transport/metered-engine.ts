import { defer, finalize, type Observable, type Subscription, tap } from 'rxjs';
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
        const measure = measured(engine, instruments, labels);
        startCounters(instruments, labels);
        const subscription = watchStats(engine, instruments, labels, watched);
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
 * common labels, and the gauges are the newer one's. What came of drafts is counted on.
 */
function watchStats(engine: Engine, instruments: Instruments, labels: Labels, watched: Watched): Subscription {
  const { running, waiting, kvUsage, prefixQueries, prefixHits } = instruments;
  const key = JSON.stringify(labels);
  const same = watched.get(key) ?? [];
  watched.set(key, same);
  same.push(engine);
  setGauges(instruments, labels);
  let seen = { queries: 0, hits: 0 };
  const countDrafts = draftCounter(instruments, labels);
  const forget = () => {
    same.splice(same.indexOf(engine), 1);
    if (same.length > 0) return;
    for (const gauge of [running, waiting, kvUsage]) gauge.remove(labels);
  };
  return engine.stats$.subscribe({
    next: (stats) => {
      const { prefixCache } = stats;
      prefixQueries.inc(labels, prefixCache.queries - seen.queries);
      prefixHits.inc(labels, prefixCache.hits - seen.hits);
      seen = prefixCache;
      if (stats.specDecode) countDrafts(stats.specDecode);
      if (same.at(-1) === engine) setGauges(instruments, labels, stats);
    },
    error: forget,
    complete: forget,
  });
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

/** Measures one request at each call, from its events alone, on the engine's clock. */
function measured({ options: { clock } }: Engine, instruments: Instruments, labels: Labels) {
  const interToken = instruments.interToken.labels(labels);
  const generationTokens = instruments.generationTokens.labels(labels);
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
          else interToken.observe((now - lastTokenAt) / 1000);
          lastTokenAt = now;
          tokens += 1;
          generationTokens.inc();
          break;
        }
        case 'finished':
          instruments.endToEnd.observe(labels, (clock.now() - arrivedAt) / 1000);
          observeResult(event.result, instruments, labels);
          // An engine that is one box gives no events between the first and the last.
          if (!prefilled && event.result.outputIds.length > 0) {
            instruments.promptTokens.inc(labels, event.result.metrics.inputTokens);
          }
          if (event.result.outputIds.length > tokens) generationTokens.inc(event.result.outputIds.length - tokens);
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
      }),
      finalize(() => {
        if (queued) ended('abort');
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
