import { percentile } from '../bench/stats.ts';
import type { Gpu } from './gpu.ts';
import type { Dispatch } from './kernel.ts';

export interface MeasureOptions {
  /** Samples; default 15. */
  readonly repeats?: number;
  /** A sample runs the dispatches in a row for about as long; default 50. */
  readonly sampleMs?: number;
}

/** Milliseconds for all dispatches once: of the samples the median and the quartiles. */
export interface Timing {
  readonly ms: number;
  readonly quartiles: readonly [number, number];
  readonly repeats: number;
  /** Runs a sample. */
  readonly runs: number;
}

const WARM_UP = 3;
const MOST_RUNS = 500;

export async function measure(
  gpu: Gpu,
  dispatches: readonly Dispatch[],
  { repeats = 15, sampleMs = 50 }: MeasureOptions = {},
): Promise<Timing> {
  let once = 0;
  for (let i = 0; i < WARM_UP; i++) once = await gpu.time(dispatches);
  const runs = Math.min(MOST_RUNS, Math.max(1, Math.ceil(sampleMs / Math.max(once, 0.01))));
  // Clocks rise under load.
  await gpu.time(dispatches, runs);
  const samples: number[] = [];
  for (let i = 0; i < repeats; i++) samples.push(await gpu.time(dispatches, runs));
  const [lower, ms, upper] = [25, 50, 75].map((percent) => percentile(samples, percent)) as [number, number, number];
  return { ms, quartiles: [lower, upper], repeats, runs };
}
