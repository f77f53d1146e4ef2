/** Softmax needs the largest score and the sum of all exponentials; here is how it gets by without seeing all at once. */
import { textTable } from '../support/table.ts';

// One query's scores against six keys, and a number to each as its value.
const scores = [1, 3, 2, 5, 4, 0.5];
const values = [10, 20, 30, 40, 50, 60];
const fixed = (value: number) => Number(value.toFixed(4));

// All at once: three passes over the scores. The maximum is subtracted so that no exponential overflows.
const most = Math.max(...scores);
const powers = scores.map((score) => Math.exp(score - most));
const total = powers.reduce((sum, power) => sum + power, 0);
const expected = powers.reduce((mean, power, key) => mean + (power / total) * values[key]!, 0);
console.log(`all at once: maximum ${most}, sum ${fixed(total)}, weighted mean ${fixed(expected)}\n`);

/** What is kept of the keys so far: enough to go on, and never a list of scores. */
interface Kept {
  readonly max: number;
  /** Of exp(score - max). */
  readonly sum: number;
  /** Of exp(score - max) × value. */
  readonly weighted: number;
}

/** A new maximum makes every exponential so far too large by the same factor, so one product puts all of them right. */
function step({ max, sum, weighted }: Kept, score: number, value: number): Kept & { readonly rescale: number } {
  const newMax = Math.max(max, score);
  const rescale = Math.exp(max - newMax);
  const power = Math.exp(score - newMax);
  return { max: newMax, rescale, sum: sum * rescale + power, weighted: weighted * rescale + power * value };
}

let kept: Kept = { max: Number.NEGATIVE_INFINITY, sum: 0, weighted: 0 };
const rows = scores.map((score, key) => {
  const next = step(kept, score, values[key]!);
  kept = next;
  return [score, values[key]!, next.max, ...[next.rescale, next.sum, next.weighted].map(fixed)];
});
console.log('one by one:\n');
console.log(textTable(['score', 'value', 'max', 'rescale', 'sum', 'weighted'], rows));
console.log(`\nweighted / sum ${fixed(kept.weighted / kept.sum)}, as above`);

/** Two parts that were walked apart become one in the same way: the order of tiles doesn't matter, nor who walks them. */
function merge(a: Kept, b: Kept): Kept {
  const max = Math.max(a.max, b.max);
  const [ofA, ofB] = [Math.exp(a.max - max), Math.exp(b.max - max)];
  return { max, sum: a.sum * ofA + b.sum * ofB, weighted: a.weighted * ofA + b.weighted * ofB };
}
const walk = (from: number, to: number) =>
  scores
    .slice(from, to)
    .reduce<Kept>((so, score, at) => step(so, score, values[from + at]!), { max: -1e9, sum: 0, weighted: 0 });
const both = merge(walk(3, 6), walk(0, 3));
console.log(`keys 4 to 6, then 1 to 3, merged: ${fixed(both.weighted / both.sum)}`);
