import type { Measured } from 'rxllm/bench';

/** Tokens/s of the second engine over the first: the median of the pairs, and its quartiles. */
export function ratioOf({ comparisons: [comparison] }: Measured<unknown>, digits: number): string {
  const ratio = comparison?.ratios['Tok/s'];
  if (ratio === undefined) throw new Error('the tokens/s of the two were not compared');
  const { median, q1, q3 } = ratio;
  return `${median.toFixed(digits)} (${q1.toFixed(digits)} to ${q3.toFixed(digits)})`;
}
