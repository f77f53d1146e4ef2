import { defer, type Subscription } from 'rxjs';
import type { Engine } from '../../core/contracts/index.ts';
import type { EngineSource } from '../engine-source.ts';
import type { Instruments, Labels } from './instruments.ts';
import { measureRequest } from './measure-request.ts';
import { tokenTally } from './token-tally.ts';
import { type Watched, watchStats } from './watch-stats.ts';

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
        const measure = measureRequest(engine, instruments, labels, tokenTally(instruments, labels, subscription));
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
