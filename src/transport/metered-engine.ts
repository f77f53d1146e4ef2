import { defer, finalize, type Observable, type Subscription, tap } from 'rxjs';
import type { Engine, GenerateResult, SpecDecodeMetrics, TokenEvent } from '../core/contracts/index.ts';
import type { EngineSource } from './engine-source.ts';
import type { Instruments, Labels } from './instruments.ts';

/** The same engines, their streams measured: who asks this source for one need not know of metrics. */
export function meteredSource(
  source: EngineSource,
  instruments: Instruments,
): EngineSource & { readonly stop: () => void } {
  const known = new WeakMap<Engine, Engine>();
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
        const subscription = watchStats(engine, instruments, labels);
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

/** The gauges show what a step left behind, and are gone with the engine; what came of drafts is counted on. */
function watchStats({ stats$ }: Engine, instruments: Instruments, labels: Labels): Subscription {
  const { running, waiting, kvUsage, prefixQueries, prefixHits } = instruments;
  let seen = { queries: 0, hits: 0 };
  const countDrafts = draftCounter(instruments, labels);
  const gauges = [running, waiting, kvUsage];
  for (const gauge of gauges) gauge.set(labels, 0);
  const forget = () => {
    for (const gauge of gauges) gauge.remove(labels);
  };
  return stats$.subscribe({
    next: (stats) => {
      running.set(labels, stats.running + stats.paused);
      waiting.set(labels, stats.waiting);
      const { prefixCache } = stats;
      prefixQueries.inc(labels, prefixCache.queries - seen.queries);
      prefixHits.inc(labels, prefixCache.hits - seen.hits);
      seen = prefixCache;
      kvUsage.set(labels, stats.blocksTotal === 0 ? 0 : stats.blocksUsed / stats.blocksTotal);
      if (stats.specDecode) countDrafts(stats.specDecode);
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
