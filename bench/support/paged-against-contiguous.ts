import { median } from '../../src/bench/stats.ts';
import { DecodeBench, type DecodeSettings } from './decode-bench.ts';

/** Milliseconds of a decode step in each pair of turns, the median of a turn's. */
export interface StepPairs {
  /** Of the runner, for people to read. */
  readonly description: string;
  readonly paged: readonly number[];
  readonly contiguous: readonly number[];
  readonly ratios: readonly number[];
}

/** The same decode step over paged blocks and over contiguous memory, in turns. */
export async function pagedAgainstContiguous(
  settings: Omit<DecodeSettings, 'layout'>,
  { pairs, steps }: { readonly pairs: number; readonly steps: number },
): Promise<StepPairs> {
  const paged = await DecodeBench.start({ ...settings, layout: 'paged' });
  const contiguous = await DecodeBench.start({ ...settings, layout: 'contiguous' });
  const times: (readonly [number, number])[] = [];
  for (let i = 0; i < pairs; i++) times.push([median(await paged.steps(steps)), median(await contiguous.steps(steps))]);
  const { description } = paged.runner;
  await Promise.all([paged.runner.dispose(), contiguous.runner.dispose()]);
  return {
    description,
    paged: times.map(([ms]) => ms),
    contiguous: times.map(([, ms]) => ms),
    ratios: times.map(([ofPaged, ofContiguous]) => ofPaged / ofContiguous),
  };
}
