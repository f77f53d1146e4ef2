import type { Subscription } from 'rxjs';
import type { Engine, EngineStats, SpecDecodeMetrics } from '../../core/contracts/index.ts';
import type { Instruments, Labels } from './instruments.ts';

/** The engines that run, by their labels, the newest last. */
export type Watched = Map<string, Engine[]>;

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
export function watchStats(engine: Engine, instruments: Instruments, labels: Labels, watched: Watched): Subscription {
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
