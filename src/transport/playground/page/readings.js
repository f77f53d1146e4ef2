import { byId } from './dom.js';

/** @typedef {import('./engine-state.js').EngineState} EngineState */

const places = new Map(
  [...byId('readings', HTMLDListElement).querySelectorAll('[data-reading]')].map((place) => [
    place.getAttribute('data-reading'),
    place,
  ]),
);

/** The figures. @param {EngineState} state */
export function showReadings({ frame, ttfts, tpots, isIdle }) {
  const stats = frame?.stats;
  set('rate', isIdle ? '0' : String(stats?.output_tokens_per_s ?? 0));
  set('ttft', median(ttfts));
  set('tpot', median(tpots));
  set('batch', String(frame?.running.length ?? 0));
  set('queue', `+ ${Math.max(stats?.waiting ?? 0, frame?.waiting.length ?? 0)} waiting`);
  set('prefix', percent(stats?.prefix_hits, stats?.prefix_queries));
  set('acceptance', percent(stats?.tokens_accepted, stats?.tokens_proposed));
}

/** @param {string} name @param {string} value */
function set(name, value) {
  const place = places.get(name);
  // What does not change is left alone, so that screen readers and selections are, too.
  if (place && place.textContent !== value) place.textContent = value;
}

/** @param {number[]} values */
function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  return middle?.toFixed(middle < 100 ? 1 : 0) ?? '–';
}

/** @param {number} [part] @param {number} [whole] */
function percent(part = 0, whole = 0) {
  return whole > 0 ? ((100 * part) / whole).toFixed(0) : '–';
}
