import type { Candidates } from './candidates.ts';
import { selectTop } from './select-top.ts';

/** The `k` largest of `logits` `[vocab]`, lower ids first among equals. Needs 1 <= k <= vocab. */
export function takeTopK(candidates: Candidates, logits: Float32Array, k: number): void {
  const { ids, weights, scratch } = candidates;
  selectTop(logits, k, scratch);
  const last = scratch[0]!;
  const least = logits[last]!;
  let count = 0;
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id]!;
    if (logit < least || (logit === least && id > last)) continue;
    ids[count] = id;
    weights[count++] = logit;
  }
  candidates.count = count;
}

/** Keeps those at least `p` times as likely as the likeliest (min-p, Nguyen et al. 2024). */
export function keepMinP(candidates: Candidates, p: number): void {
  const { weights, count } = candidates;
  let largest = 0;
  for (let i = 0; i < count; i++) if (weights[i]! > largest) largest = weights[i]!;
  keepFrom(candidates, p * largest, count);
}

/**
 * Keeps the nucleus: the fewest of the likeliest whose probabilities add up to at least `p`, lower ids first among
 * equals, and at least one (top-p, Holtzman et al. 2020). Quickselect by weight instead of a sort.
 */
export function keepTopP(candidates: Candidates, p: number): void {
  const { weights, scratch, count, total } = candidates;
  // Those below this weight add up to less than 1 - p even if they were all: none of them is in the nucleus.
  const floor = ((1 - p) * total) / count;
  let high = 0;
  for (let i = 0; i < count; i++) if (weights[i]! >= floor) scratch[high++] = i;

  const target = p * total;
  let low = 0;
  /** Weight of those before `low`, which are all in the nucleus; those from `high` on are not needed for it. */
  let kept = 0;
  let last = scratch[0]!;
  while (low < high) {
    const pivot = partition(weights, scratch, low, high);
    let sum = kept;
    for (let i = low; i < pivot; i++) sum += weights[scratch[i]!]!;
    if (sum >= target && pivot > low) {
      high = pivot;
      last = scratch[pivot - 1]!;
      continue;
    }
    last = scratch[pivot]!;
    kept = sum + weights[last]!;
    if (kept >= target) break;
    low = pivot + 1;
  }
  keepFrom(candidates, weights[last]!, last);
}

/** Keeps weights above `least`, and those equal to it up to the index `last`. */
function keepFrom(candidates: Candidates, least: number, last: number): void {
  const { ids, weights } = candidates;
  let count = 0;
  let total = 0;
  for (let i = 0; i < candidates.count; i++) {
    const weight = weights[i]!;
    if (weight < least || (weight === least && i > last)) continue;
    ids[count] = ids[i]!;
    weights[count++] = weight;
    total += weight;
  }
  candidates.count = count;
  candidates.total = total;
}

/** Orders `indices[low .. high)` around a pivot, heavier ones first, and returns where the pivot came to lie. */
function partition(weights: Float64Array, indices: Int32Array, low: number, high: number): number {
  const end = high - 1;
  const pivot = medianOfThree(weights, indices[low]!, indices[(low + high) >> 1]!, indices[end]!);
  const weight = weights[pivot]!;
  let pivotAt = low;
  let at = low;
  for (let i = low; i < high; i++) {
    const index = indices[i]!;
    const other = weights[index]!;
    if (other > weight || (other === weight && index <= pivot)) {
      indices[i] = indices[at]!;
      indices[at] = index;
      if (index === pivot) pivotAt = at;
      at++;
    }
  }
  const pivotTo = at - 1;
  indices[pivotAt] = indices[pivotTo]!;
  indices[pivotTo] = pivot;
  return pivotTo;
}

function medianOfThree(weights: Float64Array, a: number, b: number, c: number): number {
  const aFirst = isHeavier(weights, a, b);
  if (aFirst === isHeavier(weights, b, c)) return b;
  return aFirst === isHeavier(weights, a, c) ? c : a;
}

function isHeavier(weights: Float64Array, a: number, b: number): boolean {
  const x = weights[a]!;
  const y = weights[b]!;
  return x > y || (x === y && a < b);
}
