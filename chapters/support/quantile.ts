import { percentile } from 'rxllm/bench';

/** The value at a quantile from 0 to 1, linear between ranks. */
export const quantile = (values: readonly number[], at: number): number => percentile(values, 100 * at);

export const median = (values: readonly number[]): number => percentile(values, 50);
